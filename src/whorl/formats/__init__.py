"""Record formats: bytes to rows and back."""

from whorl.formats.codec import Codec
from whorl.formats.make import codec, format_schema, self_contained
from whorl.formats.options import FORMATS, FormatOptions, parse_format

__all__ = ["FORMATS", "Codec", "FormatOptions", "codec", "format_schema", "parse_format", "self_contained"]
