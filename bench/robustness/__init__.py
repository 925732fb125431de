"""How a bundle takes what people really type: lists of inputs, judged by rules. See docs/robustness.md."""
