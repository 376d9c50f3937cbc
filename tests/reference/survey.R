# Means of a stratified sample, without correction for a finite population: the schools
# apistrat of the package survey, with weights, and with each stratum weighing the same.
#
#   Rscript survey.R

suppressMessages(library(survey))

data(api)
apistrat$equal <- as.numeric(1 / table(apistrat$stype)[apistrat$stype])
values <- NULL
for (weights in c("pw", "equal")) {
    design <- svydesign(
        id = ~1, strata = ~stype, weights = apistrat[[weights]], data = apistrat
    )
    means <- svymean(~ api00 + api99, design)
    change <- svycontrast(means, c(api00 = 1, api99 = -1))
    values <- rbind(values, data.frame(
        weights = weights,
        estimate = c("api00", "api99", "difference"),
        value = c(coef(means), coef(change)),
        standard_error = c(SE(means), SE(change))
    ))
}
write.csv(
    format(values, digits = 15, trim = TRUE), "survey.csv",
    row.names = FALSE, quote = FALSE
)
write.csv(
    apistrat[c("stype", "api00", "api99", "pw")], "survey_rows.csv",
    row.names = FALSE, quote = FALSE
)
