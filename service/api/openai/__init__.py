"""Chat completions in OpenAI's form that translate, on the translation service that all APIs share."""
