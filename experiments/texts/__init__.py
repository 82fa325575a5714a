"""Topics of news stories: counts of words with strengths and exposures, beside NMF."""
