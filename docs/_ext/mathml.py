"""Formulas as MathML, which browsers show without a script or a network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _write_inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _write_block(translator, node):
    """A formula, or several with blank lines between them."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    for formula in node.astext().split("\n\n"):
        translator.body.append(tex2mathml(formula, as_block=True))
    translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer, the name of which is `html_math_renderer`."""
    inline, block = (_write_inline, None), (_write_block, None)
    app.add_html_math_renderer("mathml", inline, block)
    return {"parallel_read_safe": True}
