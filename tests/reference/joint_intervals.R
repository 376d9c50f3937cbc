# Joint intervals and adjusted p-values by multcomp, for tests/test_joint_intervals.py.
#
#   Rscript joint_intervals.R
#
# writes joint_intervals_models.csv, the coefficients and the covariance of linear models
# of the package's data sets, and joint_intervals.csv, what glht makes of these alone
# and the degrees of freedom (0: the covariance is known). The models and families are
# those of Westfall, Tobias, Rom, Wolfinger and Hochberg (1999), Multiple Comparisons
# and Multiple Tests Using the SAS System (recovery: p. 66; cholesterol: p. 153; litter:
# p. 109), and of Bretz, Hothorn and Westfall (2010), Multiple Comparisons Using R (sbp:
# difference of two regression lines). Means are coded without an intercept, and those
# of litter are at the means of its covariates: the contrasts are the same.
#
# "error" is what the critical value may be off by: uniroot's tolerance and the error of
# pmvt over the slope; "perror" is the error of the p-values that pmvt states. They are
# of "null", which for single coefficients is a claimed value a few errors away.

suppressPackageStartupMessages(library(multcomp))

litter$gesttime <- litter$gesttime - mean(litter$gesttime)
litter$number <- litter$number - mean(litter$number)
models <- list(
  recovery = list(lm(minutes ~ blanket - 1, recovery), 4),
  cholesterol = list(lm(response ~ trt - 1, cholesterol), 5),
  litter = list(lm(weight ~ dose + gesttime + number - 1, litter), 4),
  sbp = list(lm(sbp ~ gender * age, sbp), 4)
)
pairs <- function(k) contrMat(setNames(rep(1, k), letters[1:k]), "Tukey")
control <- function(k) contrMat(setNames(rep(1, k), letters[1:k]), "Dunnett")
cases <- list(
  recovery = list(each = diag(4), pairs = -pairs(4), control = control(4)),
  cholesterol = list(
    each = diag(5), pairs = -pairs(5),
    matrix = rbind(c(-1, 1, 0, 0, 0), c(-1, 0, 1, 0, 0), c(0, -1, 1, 0, 0),
                   c(-1, -1, -1, 3, 0), c(-1, -1, -1, 0, 3))
  ),
  litter = list(
    each = diag(4), pairs = -pairs(4), control = control(4),
    matrix = contrMat(table(litter$dose), "Williams")
  ),
  sbp = list(each = diag(4), matrix = cbind(0, 1, 0, seq(17, 47, 5)))
)

fine <- GenzBretz(maxpts = 3e5, abseps = 1e-6, releps = 0)
exceed <- function(q, R, df) {
  set.seed(1)
  pmvt(rep(-q, nrow(R)), rep(q, nrow(R)), df = df, corr = R, algorithm = fine)
}

inputs <- file("joint_intervals_models.csv", "w")
outputs <- file("joint_intervals.csv", "w")
cat("model,df,name,estimate,covariance\n", file = inputs)
cat("model,family,df,level,position,null,estimate,standard_error,critical_value,error,",
    "low,high,single_step,free,less,perror\n", sep = "", file = outputs)
for (model in names(models)) {
  fit <- models[[model]][[1]]
  kept <- seq_len(models[[model]][[2]])
  theta <- coef(fit)[kept]
  V <- vcov(fit)[kept, kept]
  cat(sprintf("%s,%d,%s,%.17g,%s\n", model, fit$df.residual, names(theta), theta,
              apply(V, 1, function(row) paste(sprintf("%.17g", row), collapse = " "))),
      file = inputs, sep = "")
  for (name in names(cases[[model]])) for (df in c(fit$df.residual, 0)) {
    linfct <- matrix(cases[[model]][[name]], ncol = length(kept))
    rownames(linfct) <- paste0("c", seq_len(nrow(linfct)))
    null <- if (name != "each") rep(0, nrow(linfct)) else
      round(theta + c(1.5, -2, 2.5, 3, -1)[kept] * sqrt(diag(V)), 2)
    made <- function(...) glht(parm(unname(theta), unname(V), df), linfct = linfct,
                               rhs = unname(null), ...)
    family <- made()
    less <- made(alternative = "less")
    R <- cov2cor(vcov(family))
    # pmvt gives up on statistics of ten: then there are none
    pvalues <- function(family, type) {
      set.seed(1)
      some <- adjusted(type, maxpts = 1e5, abseps = 1e-5, releps = 0)
      tryCatch(summary(family, test = some)$test$pvalues, error = function(e)
               structure(rep(NA, nrow(linfct)), error = NA))
    }
    single <- pvalues(family, "single-step")
    free <- pvalues(family, "free")
    smaller <- pvalues(less, "single-step")
    for (level in c(.8, .95, .99)) {
      q <- uniroot(function(q) exceed(q, R, df) - level, c(1, 6), tol = 1e-6)$root
      p <- exceed(q, R, df)
      slope <- (exceed(q + .01, R, df) - exceed(q - .01, R, df)) / .02
      error <- 1e-6 + attr(p, "error") / slope
      limits <- confint(family, level = level, calpha = q)$confint
      cat(sprintf("%s,%s,%d,%g,%d,%.10g,%.12g,%.12g,%.8f,%.1e,%.10g,%.10g,%.8f,%.8f,%.8f,%.1e\n",
                  model, name, df, level, seq_len(nrow(limits)) - 1L, null, limits[, 1],
                  sqrt(diag(vcov(family))), q, error, limits[, 2], limits[, 3], single,
                  free, smaller, attr(single, "error")),
          file = outputs, sep = "")
    }
    message(model, " ", name, " ", df, " q(.99) = ", q, " error ", error)
  }
}
close(inputs)
close(outputs)
