# Two tests read by five readers (VanDyke): ratings of 114 cases, 45 of them positive.
# The data are those of the package MRMCaov, https://github.com/brian-j-smith/MRMCaov,
# and the values are printed in its user guide, the differences of test 1 and test 2.

library(MRMCaov)

auc <- mrmc(
    empirical_auc(truth, rating), treatment, reader, case,
    data = VanDyke, cov = DeLong
)
summary(auc)

VanDyke$binary <- as.integer(VanDyke$rating >= 3)
sensitivity <- mrmc(
    binary_sens(truth, binary), treatment, reader, case,
    data = VanDyke, cov = jackknife
)
summary(sensitivity)
