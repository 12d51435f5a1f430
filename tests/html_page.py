"""Reads a page of ours and insists that it is whole."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "circle", "line", "rect", "input"}
OURS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2", "h3", "p", "strong",
    "dl", "div", "dt", "dd", "figure", "figcaption", "svg", "desc", "g", "text", "line", "rect", "circle", "table",
    "caption", "thead", "tbody", "tr", "th", "td", "span", "code", "ul", "ol", "li", "article", "pre", "script",
    "details", "summary", "h4", "nav", "button", "label", "select", "option", "input", "ins", "del", "mark",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "id", "class", "aria-labelledby", "aria-label", "role",
    "tabindex", "scope", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "overflow",
    "text-anchor", "hidden", "type", "for", "value", "autocomplete", "dir", "data-label",
}  # fmt: skip


class Page(HTMLParser):
    """Records elements and text, and insists that every element is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data[:80]}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data[:80]}")

    def text(self) -> str:
        return "".join(data for tag, data in self.texts if tag not in ("style", "script")).replace("\xa0", " ")


def shape(page: Page) -> list[str]:
    return [tag for tag, _ in page.elements]
