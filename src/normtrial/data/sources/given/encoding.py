"""Where a file stops being what its encoding says, and what it may be instead."""

import codecs
from pathlib import Path

from normtrial.errors import ConfigError, require

CHUNK = 1 << 20  # bytes


def known_encoding(name: str) -> None:
    """Raise `ConfigError` unless Python knows the encoding."""
    try:
        known = codecs.lookup(name)._is_text_encoding
    except LookupError:
        known = False
    require(known, f"data.encoding={name!r} is unknown; common ones are utf-8, utf-16, gb18030, big5, cp1252.")


def check_encoding(path: Path, encoding: str) -> None:
    """Raise `ConfigError` with the line of the first byte that cannot be decoded."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with path.open("rb") as file:
        while True:
            chunk = file.read(CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                byte = error.object[error.start]
                raise ConfigError(
                    f"{path} is not {encoding.upper()}: byte 0x{byte:02x} in line {line}. "
                    f"Perhaps it is {likely(path)}: say data.encoding={likely(path)}, or convert the file."
                ) from error
            if not chunk:
                return
            line += chunk.count(b"\n")


def likely(path: Path) -> str:
    """The encoding of a file that is not UTF-8: a guess from its first million bytes."""
    with path.open("rb") as file:
        content = file.read(CHUNK)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    text = content.decode("gb18030", errors="replace")  # decodes nearly anything, mostly to rare characters
    foreign = [character for character in text if not character.isascii()]
    common = sum("\u4e00" <= character <= "\u9fff" or "\u3000" <= character <= "\u303f" for character in foreign)
    return "gb18030" if 10 * common > 9 * len(foreign) else "cp1252"
