"""The one kind of error that itmlab raises on purpose: a line that says what, where, and the remedy."""


class ItmlabError(ValueError):
    """An input, file or setting that cannot be used, said in one line with its remedy."""

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None):
        self.what, self.where, self.remedy = what, where, remedy
        line = what if where is None else f"{where}: {what}"
        super().__init__(line if remedy is None else f"{line} — {remedy}")


class MissingPart(ItmlabError):
    """An optional part that is not installed; the remedy is the command that brings it."""

    def __init__(self, part: str, command: str, *, needed_for: str):
        super().__init__(f"{needed_for} needs {part}, which is not installed", remedy=f"run: {command}")
