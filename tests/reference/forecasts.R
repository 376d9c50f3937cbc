# The test of Diebold and Mariano on one-step errors of two models of WWWusage, fitted to
# minutes 1 to 80, in minutes 81 to 100: the example of the package forecast.
#
#   Rscript forecasts.R

suppressMessages(library(forecast))

errors <- data.frame(
    ets = as.numeric(residuals(ets(WWWusage[81:100], model = ets(WWWusage[1:80])))),
    arima = as.numeric(
        residuals(Arima(WWWusage[81:100], model = auto.arima(WWWusage[1:80])))
    )
)
values <- NULL
for (steps in 1:3) {
    tested <- dm.test(errors$ets, errors$arima, h = steps)
    values <- rbind(values, data.frame(
        steps = steps, statistic = tested$statistic, pvalue = tested$p.value
    ))
}
write.csv(
    format(values, digits = 15, trim = TRUE), "forecasts.csv",
    row.names = FALSE, quote = FALSE
)
write.csv(
    format(errors, digits = 15, trim = TRUE), "forecasts_rows.csv",
    row.names = FALSE, quote = FALSE
)
