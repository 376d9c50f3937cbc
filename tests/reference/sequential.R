# Pocock's boundaries of two-sided tests at .05, and of their plans the power and the mean
# number of observations, over that of a fixed sample, for multiples of the planned effect.
#
#   Rscript sequential.R

suppressMessages(library(rpact))

looks <- list(
    "2" = 1:2 / 2, "5" = 1:5 / 5, "10" = 1:10 / 10,
    "uneven" = c(150, 400, 1000) / 1000
)
values <- NULL
for (name in names(looks)) for (power in c(0.8, 0.9)) {
    design <- getDesignGroupSequential(
        informationRates = looks[[name]], alpha = 0.05, beta = 1 - power, sided = 2,
        typeOfDesign = "P"
    )
    inflation <- getDesignCharacteristics(design)$inflationFactor
    planned <- qnorm(0.975) + qnorm(power)
    for (effect in c(0, 0.5, 1, 2)) {
        found <- getPowerAndAverageSampleNumber(
            design, theta = effect * planned, nMax = inflation
        )
        values <- rbind(values, data.frame(
            looks = name, power = power, effect = effect,
            critical_value = design$criticalValues[1], inflation = inflation,
            decided = found$overallReject, items = found$averageSampleNumber
        ))
    }
}
write.csv(
    format(values, digits = 6, trim = TRUE), "sequential.csv",
    row.names = FALSE, quote = FALSE
)
