"""The style of all plots, with a colour-blind-safe palette (Okabe and Ito)."""

STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "figure.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
}
BLUE, ORANGE, GREEN, RED = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
