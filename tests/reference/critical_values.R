# Critical values by mvtnorm, for tests/test_critical.py.
#
#   Rscript critical_values.R > critical_values.csv
#
# Probabilities are Miwa's (non-singular, up to 5 dimensions, exact to about 1e-8) or
# Genz and Bretz's; the root is found by uniroot. "error" is the error of the
# probability over the slope of the probability at the root.

suppressPackageStartupMessages(library(mvtnorm))

# Correlation matrix with given entries above its diagonal, row by row.
correlation <- function(k, above) {
  R <- diag(k)
  R[lower.tri(R)] <- above
  R + t(R) - diag(k)
}

cases <- list(
  correlation(3, c(.9, -.4, -.1)),
  correlation(4, c(-.3, .5, .5, .5, .5, .8)),
  correlation(5, c(.97, .6, .2, -.1, .55, .2, -.05, .7, .3, .5)),
  correlation(7, round(outer(1:7, 1:7, function(i, j) cos(i * j) / (1 + abs(i - j)))[
    lower.tri(diag(7))], 2))
)

exceed <- function(q, R, tail) {
  k <- nrow(R)
  algorithm <- if (k <= 5) Miwa(steps = 512) else
    GenzBretz(maxpts = 1e6, abseps = 1e-6, releps = 0)
  set.seed(1)
  lower <- if (tail == "two-sided") rep(-q, k) else rep(-Inf, k)
  pmvnorm(lower, rep(q, k), corr = R, algorithm = algorithm)
}

cat("tail,level,value,error,above\n")
for (R in cases) for (tail in c("two-sided", "greater")) for (level in c(.8, .95, .999)) {
  q <- uniroot(function(q) exceed(q, R, tail) - level, c(0, 5), tol = 1e-7)$root
  h <- 1e-2
  slope <- (exceed(q + h, R, tail) - exceed(q - h, R, tail)) / (2 * h)
  error <- if (nrow(R) <= 5) 1e-7 else attr(exceed(q, R, tail), "error")
  cat(sprintf("%s,%g,%.6f,%.1e,%s\n", tail, level, q, error / slope,
              paste(R[lower.tri(R)], collapse = " ")))
}
