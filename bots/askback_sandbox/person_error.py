"""The mistake of a person who acts in the local Slack or Discord."""


class PersonError(Exception):
    """An act that the platform's client would not allow; `code` is stable, and the text is for people."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code
