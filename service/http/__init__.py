"""What every request passes before an API sees it, and every error on its way back."""
