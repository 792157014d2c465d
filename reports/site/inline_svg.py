"""Figures as part of a page: drawn once, coloured by the page's own variables, so that one drawing
serves light and dark; and written tersely, since a page holds many."""

import re
from io import BytesIO
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib.figure import Figure

from reports.style import DARK, LIGHT, Theme

# Colours that nothing else uses; each becomes the variable of the page that it stands for.
PAGE = Theme("page", "#fe0001", "#fe0002", "#fe0003", "#fe0004", "#fe0005", "#fe0006", "#fe0007")
ROLES = ("paper", "ink", "muted", "grid", "own", "vendor", "alarm")

CSS_PER_INCH = 96
LEFT_OUT = ("metadata", "style")
REFERENCE = re.compile(r"(?<=#)[\w.]+")
CURVES = set("CQ")
DECIMALS = re.compile(r"(\d+\.\d)\d+")


def variables(theme: Theme) -> Markup:
    """The declarations that give the figures the colours of a theme."""
    return Markup("; ").join(f"--figure-{role}: {getattr(theme, role)}" for role in ROLES)


LIGHT_VARIABLES, DARK_VARIABLES = variables(LIGHT), variables(DARK)


def inline_svg(figure: Figure, alt: str, name: str) -> Markup:
    """The figure as an element; name keeps its inner ids apart from those of other figures."""
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for element in list(root.iter()):
        for child in list(element):
            if _local(child.tag) in LEFT_OUT:
                element.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        _shorten(element, name)
    width, height = (inches * CSS_PER_INCH for inches in figure.get_size_inches())
    root.attrib = {
        "class": "chart", "role": "img", "aria-label": alt, "viewBox": root.attrib["viewBox"],
        "width": f"{width:.0f}", "height": f"{height:.0f}",
    }  # fmt: skip
    svg = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    for role in ROLES:
        svg = svg.replace(getattr(PAGE, role), f"var(--figure-{role})")
    return Markup(re.sub(r">\s+<", "><", svg))


def _terse(path: str) -> str:
    """A tenth of a point is finer than a pixel, and after a move or a line, a line is meant."""
    path = DECIMALS.sub(r"\1", " ".join(path.split()))
    return path if CURVES & set(path) else path.replace(" L ", " ")


def _local(tag: str) -> str:
    """The name of an element or attribute without its namespace: HTML knows SVG's by itself."""
    return tag.rpartition("}")[2]


def _shorten(element: ElementTree.Element, name: str) -> None:
    short = {}
    for key, value in element.attrib.items():
        match _local(key):
            case "id" if element.tag in ("g", "svg"):
                continue  # names a part of the figure, and nothing refers to it
            case "id":
                value = f"{name}-{value}"
            case "href" | "clip-path":
                value = REFERENCE.sub(lambda inner: f"{name}-{inner[0]}", value)
            case "d":
                value = _terse(value)
            case "style":
                # The page says which font; the figure, how large.
                parts = [part.strip() for part in value.split(";")]
                value = "; ".join(part for part in parts if not part.startswith("font-family"))
            case "transform" if value.startswith("rotate(-0 "):
                continue
        short[_local(key)] = value
    element.attrib = short
