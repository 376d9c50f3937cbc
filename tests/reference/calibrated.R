# Calibrated estimates of the schools apistrat and apiclus1 of the package survey, without
# correction for a finite population. The population has 6,194 schools.
#
#   Rscript calibrated.R

suppressMessages(library(survey))

data(api)
types <- data.frame(stype = c("E", "H", "M"), Freq = c(4421, 755, 1018))
totals <- c(`(Intercept)` = 6194, stypeH = 755, stypeM = 1018)
of_scores <- c(totals, api99 = 3914069)
of_wide <- c(totals, sch.wideYes = 5122)
columns <- c("stype", "sch.wide", "awards", "api00", "api99", "pw", "dnum")
rows <- rbind(cbind(apistrat[, columns], set = "strat"), cbind(apiclus1[, columns], set = "clus"))
write.csv(rows, "calibrated_rows.csv", row.names = FALSE, quote = FALSE)

prepare <- function(data) {
    data$agree <- as.numeric(data$sch.wide == data$awards)
    data$wide <- as.numeric(data$sch.wide == "Yes")
    data$both <- as.numeric(data$wide & data$awards == "Yes")
    data
}
strat <- svydesign(id = ~1, weights = ~pw, data = prepare(apistrat))
clus <- svydesign(id = ~dnum, weights = ~pw, data = prepare(apiclus1))
exact <- function(...) calibrate(..., calfun = "raking", epsilon = 1e-12)
designs <- list(
    `strat, post-stratified` = postStratify(strat, ~stype, types),
    `strat, regression` = calibrate(strat, ~ stype + api99, of_scores),
    `strat, two margins` = exact(strat, ~ stype + sch.wide, of_wide),
    `strat, margin and mean` = exact(strat, ~ stype + api99, of_scores),
    `clus, regression` = calibrate(clus, ~ stype + api99, of_scores),
    `clus, one margin` = exact(clus, ~stype, totals)
)
values <- NULL
for (name in names(designs)) {
    design <- designs[[name]]
    means <- svymean(~ agree + api00, design)
    share <- svyratio(~both, ~wide, design)
    values <- rbind(values, data.frame(
        design = sub(", ", ":", name),
        estimate = c("accuracy", "api00", "recall"),
        value = c(coef(means), coef(share)),
        standard_error = c(SE(means), SE(share))
    ))
}
values <- format(values, digits = 16)
write.csv(values, "calibrated.csv", row.names = FALSE, quote = FALSE)
