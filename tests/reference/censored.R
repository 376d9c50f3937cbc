# Calibration, Brier score and AUC of an event by the time 1.5: the cohort df_surv of the
# R package dcurves 0.5 (MIT License, D. Sjoberg; data-raw/dca.csv), with its predictions
# and with the risks of the Cox regression of its tutorial.
#
#   Rscript censored.R dca.csv

suppressMessages({
    library(riskRegression)
    library(survival)
})

rows <- read.csv(commandArgs(TRUE)[1])
rows$event <- as.integer(rows$cancer)
cox <- coxph(Surv(ttcancer, event) ~ age + famhistory + marker, data = rows)
rows$risk <- 1 - c(summary(survfit(cox, newdata = rows), times = 1.5)$surv)
rows$predicted <- rows$cancerpredmarker
rows$logit <- qlogis(rows$predicted)
values <- NULL
add <- function(name, value, error) {
    row <- data.frame(name = name, value = value, standard_error = error)
    values <<- rbind(values, row)
}

score <- Score(
    list(model = rows$predicted), Surv(ttcancer, event) ~ 1, data = rows, times = 1.5,
    plots = "calibration", null.model = FALSE, conservative = FALSE
)
add("survival_brier", score$Brier$score$Brier, score$Brier$score$se)
add("cumulative_dynamic_auc", score$AUC$score$AUC, score$AUC$score$se)

slope <- wglm(
    ~logit, Surv(ttcancer, event == 0) ~ 1, times = 1.5, data = rows,
    product.limit = TRUE
)
intercept <- wglm(
    ~ offset(logit), Surv(ttcancer, event == 0) ~ 1, times = 1.5, data = rows,
    product.limit = TRUE
)
for (fit in list(c("calibration_slope", 2), c("calibration_intercept", 1))) {
    model <- if (fit[2] == 2) slope else intercept
    found <- summary(model, print = FALSE)[[1]][as.integer(fit[2]), 1:2]
    add(fit[1], found[[1]], found[[2]])
}

curve <- plotCalibration(
    score, method = "quantile", q = 5, cens.method = "local", plot = FALSE,
    round = FALSE
)$plotFrames$model
limits <- quantile(rows$predicted, 0:5 / 5)
bins <- cut(rows$predicted, limits, include.lowest = TRUE, labels = FALSE)
for (bin in 1:5) {
    fit <- survfit(
        Surv(ttcancer, event) ~ 1, data = rows[bins == bin, ], robust = TRUE
    )
    found <- summary(fit, times = 1.5)
    stopifnot(abs(1 - found$surv - curve$Obs[bin]) < 1e-12)
    add(paste("bin", bin), curve$Obs[bin], found$std.err)
    add(paste("mean of bin", bin), curve$Pred[bin], NA)
}
whole <- summary(survfit(Surv(ttcancer, event) ~ 1, data = rows), times = 1.5)
add("observed_to_expected", (1 - whole$surv) / mean(rows$predicted), NA)

write.csv(
    format(values, digits = 12, trim = TRUE), "censored.csv",
    row.names = FALSE, quote = FALSE
)
columns <- c("event", "ttcancer", "famhistory", "predicted", "risk")
write.csv(
    format(as.data.frame(rows)[columns], digits = 15, trim = TRUE), "censored_rows.csv",
    row.names = FALSE, quote = FALSE
)
