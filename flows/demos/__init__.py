"""Made-up inputs with known answers, one file a family."""
