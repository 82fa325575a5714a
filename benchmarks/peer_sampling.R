# The R package sampling: conditional Bernoulli laws of fixed size, "conditional Poisson" there.
#
#     Rscript peer_sampling.R ODDS.txt K ROWS
#
# Prints lines "name number number ...", processor seconds for one call each.
suppressMessages(library(sampling))
given <- commandArgs(trailingOnly = TRUE)
odds <- scan(given[1], quiet = TRUE)
k <- as.integer(given[2])
rows <- as.integer(given[3])

best <- function(action) {
  action()
  clock <- function() sum(proc.time()[1:2])
  end <- clock() + 0.4
  found <- Inf
  n <- 1
  while (clock() < end || is.infinite(found)) {
    began <- clock()
    for (i in seq_len(n)) action()
    took <- clock() - began
    if (took < 0.05) n <- 2 * n else found <- min(found, took / n)
  }
  found
}
say <- function(name, values) cat(name, format(values, digits = 17, trim = TRUE), "\n")
probs <- function() UPMEpikfromq(UPMEqfromw(odds, k))
draw <- function() {
  q <- UPMEqfromw(odds, k)
  sapply(seq_len(rows), function(i) UPMEsfromq(q))
}
pi <- probs()
tilde <- UPMEpiktildefrompik(pi)
say("probs", pi)
say("probs_seconds", best(probs))
say("sample", draw())
say("sample_seconds", best(draw) / rows)
say("inverse", log(tilde / (1 - tilde)))
say("inverse_seconds", best(function() UPMEpiktildefrompik(pi)))
cat("version", as.character(packageVersion("sampling")), "\n")
