# The example of pROC's documentation, for tests/test_scores.py.
#
#   Rscript auc.R
#
# writes auc_rows.csv, two markers in 113 patients and whether the outcome was poor
# (Turck et al., 2010, Intensive Care Medicine 36, 107-115; the data set aSAH of pROC),
# and auc.csv, what pROC makes of them by DeLong's method.

suppressPackageStartupMessages(library(pROC))

data(aSAH)
rows <- data.frame(poor = as.integer(aSAH$outcome == "Poor"), s100b = aSAH$s100b,
                   ndka = aSAH$ndka)
write.csv(rows, "auc_rows.csv", row.names = FALSE, quote = FALSE)
first <- roc(rows$poor, rows$s100b, quiet = TRUE)
second <- roc(rows$poor, rows$ndka, quiet = TRUE)
test <- roc.test(first, second, method = "delong", paired = TRUE)
found <- c(
  auc_first = as.numeric(first$auc), auc_second = as.numeric(second$auc),
  low_first = ci(first)[1], high_first = ci(first)[3],
  low_second = ci(second)[1], high_second = ci(second)[3],
  variance_first = var(first), variance_second = var(second),
  covariance = cov(first, second), z = unname(test$statistic), pvalue = test$p.value
)
table <- data.frame(name = names(found), value = sprintf("%.15g", found))
write.csv(table, "auc.csv", row.names = FALSE, quote = FALSE)
