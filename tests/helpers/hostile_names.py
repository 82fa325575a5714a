"""Names that mean harm: to pages, terminals, spreadsheets and layouts."""

_KINDS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "=1+1", "+cmd|' /C calc'!A0",
    "-2+3", "@SUM(A1)", "\x1b[31mred", "\u202egnp.exe", "x" * 500, 'a"b,c', "'; DROP", "{{7*7}}",
    "javascript:alert(1)", "</style><b>", "</title>", "&lt;b&gt;", "\t=2", "日本語", "🙂", "a\nb",
]  # fmt: skip


def hostile_names(number: int) -> list[str]:
    """Return different names, each kind in turn."""
    return [f"{_KINDS[n % len(_KINDS)]}{n // len(_KINDS)}" for n in range(number)]
