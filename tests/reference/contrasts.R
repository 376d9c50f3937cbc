# Joint intervals and adjusted p-values by multcomp, for tests/test_differences.py.
#
#   Rscript contrasts.R > contrasts.csv
#
# From the rows of contrasts_rows.csv (y is the truth; a, b and c are models) come the
# accuracy and the F1 score of each model and, by the delta method, their covariance;
# from these two alone, glht makes the rest. "error" is what the intervals may be off
# by in standard errors: qmvnorm's tolerance and the error of pmvnorm over the slope.

suppressPackageStartupMessages(library(multcomp))

table <- read.csv("contrasts_rows.csv")
rows <- table[rep(seq_len(nrow(table)), table$rows), ]
n <- nrow(rows)
theta <- c()
influence <- NULL
for (model in c("a", "b", "c")) {
  y <- rows$y
  p <- rows[[model]]
  f1 <- 2 * sum(y * p) / sum(y + p)
  theta <- c(theta, mean(y == p), f1)
  influence <- cbind(influence, y == p, (2 * y * p - f1 * (y + p)) / mean(y + p))
}
V <- cov(influence) / n

# columns: accuracy and f1 of a, then of b, then of c
each <- diag(6)
pairs <- rbind(each[1, ] - each[3, ], each[1, ] - each[5, ], each[3, ] - each[5, ],
               each[2, ] - each[4, ], each[2, ] - each[6, ], each[4, ] - each[6, ])
cases <- list(
  pairs = list(theta, V, pairs),
  control = list(theta, V, pairs[c(2, 3, 5, 6), ]),
  ratios = list(log(theta), V / outer(theta, theta), pairs),
  matrix = list(theta, V, rbind(each[1, ] - each[2, ], each[5, ] - each[6, ],
                                (each[1, ] + each[3, ]) / 2 - each[5, ], 2 * each[4, ]))
)

fine <- GenzBretz(maxpts = 1e6, abseps = 1e-5, releps = 0)
exceed <- function(q, R) pmvnorm(rep(-q, nrow(R)), rep(q, nrow(R)), corr = R,
                                 algorithm = fine)
cat("case,level,position,estimate,standard_error,low,high,error,single_step,free\n")
for (name in names(cases)) {
  case <- cases[[name]]
  family <- glht(parm(case[[1]], case[[2]]), linfct = case[[3]])
  R <- cov2cor(vcov(family))
  pvalues <- function(type) {
    set.seed(1)
    summary(family, test = adjusted(type, maxpts = 1e6, abseps = 1e-5, releps = 0)
            )$test$pvalues
  }
  single <- pvalues("single-step")
  free <- pvalues("free")
  for (level in c(.8, .95, .99)) {
    set.seed(1)
    q <- uniroot(function(q) exceed(q, R) - level, c(1, 5), tol = 1e-5)$root
    slope <- (exceed(q + .01, R) - exceed(q - .01, R)) / .02
    error <- 1e-5 + attr(exceed(q, R), "error") / slope
    limits <- confint(family, level = level, calpha = q)$confint
    cat(sprintf("%s,%g,%d,%.10f,%.10f,%.10f,%.10f,%.1e,%.8f,%.8f\n", name, level,
                seq_len(nrow(limits)) - 1L, limits[, 1],
                sqrt(diag(vcov(family))), limits[, 2], limits[, 3], error, single,
                free), sep = "")
  }
}
