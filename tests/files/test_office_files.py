"""PDF and Word files are read as text with titles and headings, and harmful ones end in a message, soon."""

import zipfile
import zlib

import docx
import pypdf
import pytest

from likewise.errors import BadInput
from likewise.files import documents as office_files
from likewise.files import office_reader
from likewise.files.documents import office_text, read_documents


def pdf(path, *pages, content=None, kids=None):
    """A PDF whose pages show a line each, written by hand."""
    streams = content or [f"BT /F1 12 Tf 20 20 Td ({page}) Tj ET".encode() for page in pages]
    kids = kids or " ".join(f"{4 + 2 * i} 0 R" for i in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, stream in enumerate(streams):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents {5 + 2 * i} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        objects.append(b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(stream), FLATE if content else b"", stream))
    data, places = b"%PDF-1.4\n", []
    for number, content_ in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content_)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    data += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n" % (size, table, size)
    path.write_bytes(data + b"startxref\n%d\n%%%%EOF\n" % data.rindex(b"xref\n0"))
    return path


FLATE = b"/Filter /FlateDecode "


@pytest.fixture
def word(tmp_path):
    document = docx.Document()
    document.add_heading("Hamsters", 0)
    document.add_heading("Food", 1)
    document.add_paragraph("They eat seeds.")
    table = document.add_table(2, 2)
    for i, text in enumerate(["Age", "Grams", "adult", "10"]):
        table.cell(i // 2, i % 2).text = text
    document.core_properties.title = ""
    document.save(tmp_path / "a.docx")
    return tmp_path / "a.docx"


def rewritten(path, change):
    """A Word file with another body."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["word/document.xml"] = change(parts["word/document.xml"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_the_pages_of_a_pdf_are_one_document(tmp_path):
    writer = pypdf.PdfWriter(pdf(tmp_path / "a.pdf", "Horses sleep", "standing up."))
    [found] = read_documents([str(tmp_path / "a.pdf")])
    assert (found.text, found.title, found.row, found.has_headings) == ("Horses sleep\fstanding up.", "a", None, False)
    writer.add_metadata({"/Title": "Of horses"})
    writer.write(tmp_path / "b.pdf")
    assert office_text(tmp_path / "b.pdf") == ("Horses sleep\fstanding up.", "Of horses")


def test_a_word_file_has_headings_tables_and_a_title(word):
    [found] = read_documents([str(word)])
    assert (found.title, found.has_headings) == ("Hamsters", True)
    assert found.text == "Hamsters\n\n# Food\n\nThey eat seeds.\nAge | Grams\nadult | 10"


def test_headings_of_a_word_file_are_of_six_levels_and_its_own_title_is_first(tmp_path):
    document = docx.Document()
    for level in range(10):
        document.add_heading(f"of {level}", level)
    table = document.add_table(1, 2)
    for cell in table.rows[0].cells:
        cell.text = "first"
        cell.add_paragraph("second")
    for title in ("", "Its own"):
        document.core_properties.title = title
        document.save(tmp_path / "a.docx")
        assert office_text(tmp_path / "a.docx") == (
            "\n\n".join("#" * min(level, 6) + " " * (level > 0) + f"of {level}" for level in range(10))
            + "\nfirst\nsecond | first\nsecond",
            title or "of 0",
        )


def test_a_word_file_without_properties_has_no_title_but_its_name(tmp_path):
    docx.Document().save(tmp_path / "a.docx")
    document = docx.Document(tmp_path / "a.docx")
    document.add_paragraph("They eat seeds.")
    rels = document.part.package.rels
    [own] = [key for key, one in rels.items() if one.reltype.endswith("/core-properties")]
    del rels[own]
    document.save(tmp_path / "a.docx")
    assert not any("core" in name for name in zipfile.ZipFile(tmp_path / "a.docx").namelist())
    [found] = read_documents([str(tmp_path / "a.docx")])
    assert (found.title, found.text) == ("a", "They eat seeds.")


def test_white_space_of_a_word_file_is_read(word):
    inside = (
        b"<w:p><w:r><w:t/><w:t>a</w:t><w:br/><w:t>b</w:t><w:cr/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>"
    )
    text, _ = office_text(rewritten(word, lambda body: body.replace(b"</w:body>", inside + b"</w:body>")))
    assert text.endswith("\n\na\nb\nc-d")


def test_inserted_linked_and_boxed_text_of_a_word_file_is_read_once(word):
    inside = (
        b'<w:p><w:ins w:id="1" w:author="a"><w:r><w:t>inserted</w:t></w:r></w:ins><w:r><w:tab/></w:r>'
        b"<w:hyperlink><w:r><w:t>linked</w:t></w:r></w:hyperlink><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        b"<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>"
        b'<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Fallback>'
        b"<w:p><w:r><w:t>again</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt></w:body>"
    )
    text, _ = office_text(rewritten(word, lambda body: body.replace(b"</w:body>", inside)))
    assert text.endswith("inserted\tlinked\n\nboxed\n\ncontrolled") and "gone" not in text and "again" not in text


def test_files_without_text_or_with_a_password_are_told_apart(tmp_path):
    blank = pypdf.PdfWriter()
    blank.add_blank_page(200, 200)
    blank.write(tmp_path / "a.pdf")
    for name in ("b.pdf", "c.pdf"):
        writer = pypdf.PdfWriter(pdf(tmp_path / name, "secret"))
        writer.encrypt("word", algorithm="RC4-128")  # AES needs the package cryptography
        writer.write(tmp_path / name)
    (tmp_path / "d.docx").write_bytes(office_reader.OLE + b"x" * 600)
    (tmp_path / "e.pdf").write_bytes(b"%PDF-1.4 no more")
    (tmp_path / "f.docx").write_bytes(b"PK no zip")
    open_to_all = pypdf.PdfWriter(pdf(tmp_path / "g.pdf", "not secret"))
    open_to_all.encrypt("", "owner", algorithm="RC4-128")
    open_to_all.write(tmp_path / "g.pdf")
    skipped = []
    found = [*read_documents([str(tmp_path)], skip=skipped.append)]
    assert [one.text for one in found] == ["", "not secret"]
    assert [file.is_error for file in skipped] == [False, True, True, True, True, True]
    reasons = [
        "they contain only images of pages",
        "b.pdf is encrypted",
        "c.pdf is encrypted",
        "d.docx is encrypted, or",
    ]
    reasons += ["e.pdf is broken", "f.docx is broken"]
    assert all(reason in file.reason for reason, file in zip(reasons, skipped, strict=True))


def test_encryption_that_needs_another_package_says_so(tmp_path, monkeypatch):
    class Encrypted:
        is_encrypted = True

        def decrypt(self, password):
            raise pypdf.errors.DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(pypdf, "PdfReader", lambda path: Encrypted())
    error = office_reader.answer(str(pdf(tmp_path / "a.pdf", "secret")))["error"]
    assert error == "is encrypted; save it without encryption, or: pip install cryptography"


def test_pages_bytes_parts_and_characters_are_bounded(tmp_path, word, monkeypatch):
    path = pdf(tmp_path / "a.pdf", "Horses sleep", "standing up.")
    for name, value, file, message in [
        ("MAX_PAGES", 1, path, "has 2 pages; expected at most 1"),
        ("MAX_CHARACTERS", 15, path, "has more than 15 characters"),
        ("MAX_CHARACTERS", 15, word, "has more than 15 characters"),
        ("MAX_BYTES", 10, path, "has more than 10 bytes"),
        ("MAX_UNPACKED", 1000, word, "expected at most 1,000 in"),
        ("MAX_PARTS", 2, word, "parts; expected at most"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(office_reader, name, value)
            assert message in office_reader.answer(str(file))["error"]


def test_what_is_just_within_the_bounds_is_read(tmp_path, word, monkeypatch):
    path = pdf(tmp_path / "a.pdf", "Horses sleep", "standing")
    with zipfile.ZipFile(word) as archive:
        sizes = [part.file_size for part in archive.infolist()]
    for name, value, file in [
        ("MAX_PAGES", 2, path),
        ("MAX_CHARACTERS", 20, path),
        ("MAX_CHARACTERS", len(office_text(word)[0]), word),
        ("MAX_BYTES", path.stat().st_size, path),
        ("MAX_UNPACKED", sum(sizes), word),
        ("MAX_PARTS", len(sizes), word),
    ]:
        for less in (0, 1):
            with monkeypatch.context() as patch:
                patch.setattr(office_reader, name, value - less)
                assert ("error" in office_reader.answer(str(file))) == bool(less), name


def test_a_word_file_that_unpacks_to_more_than_it_says_is_not_read_further(tmp_path, word):
    data = word.read_bytes()
    directory = data.index(b"PK\x01\x02")
    while (place := data.find(b"PK\x01\x02", directory)) >= 0:  # the directory says that every part has ten bytes
        data = data[: place + 24] + (10).to_bytes(4, "little") + data[place + 28 :]
        directory = place + 4
    (tmp_path / "b.docx").write_bytes(data)
    assert "is broken" in office_reader.answer(str(tmp_path / "b.docx"))["error"]


def bomb(tmp_path):
    return pdf(tmp_path / "a.pdf", content=[zlib.compress(b" " * 300_000_000)])


def circle(tmp_path):
    return pdf(tmp_path / "a.pdf", "x", kids="2 0 R")


def deep(tmp_path):
    nested = "[" * 100_000
    return pdf(tmp_path / "a.pdf", content=[zlib.compress(f"BT {nested} TJ ET".encode())])


@pytest.mark.parametrize("harmful", [bomb, circle, deep])
def test_a_harmful_pdf_ends_in_a_message_or_a_text(tmp_path, harmful):
    try:
        text, _ = office_text(harmful(tmp_path))
    except BadInput as error:
        assert str(tmp_path) in str(error)
    else:
        assert len(text) < 1000


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace(b"<w:body>", b"<w:body>" + b"<w:tbl><w:tr><w:tc>" * 20_000),
        lambda body: body.replace(b"?>", b'?><!DOCTYPE a [<!ENTITY b "' + b"x" * 99 + b'">' + ENTITIES, 1).replace(
            b"They eat", b"&b9;"
        ),
    ],
)
def test_a_harmful_word_file_ends_in_a_message_or_a_text(word, change):
    try:
        text, _ = office_text(rewritten(word, change))
    except BadInput as error:
        assert "a.docx is broken" in str(error)
    else:
        assert len(text) < 1000


ENTITIES = b"".join(b'<!ENTITY b%d "%s">' % (i, b"&b%d;" % (i - 1) * 9 if i else b"&b;") for i in range(10)) + b"]>"


def test_a_process_that_takes_too_long_or_dies_is_one_message(tmp_path, monkeypatch):
    path = pdf(tmp_path / "a.pdf", "x")
    program = tmp_path / "program.py"
    monkeypatch.setattr(office_files, "PROGRAM", program)
    program.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(office_files, "SECONDS", 0.2)
    with pytest.raises(BadInput, match="a.pdf was not read within 0.2 s"):
        office_text(path)
    program.write_text("import os; os._exit(3)")
    monkeypatch.setattr(office_files, "SECONDS", 60)
    with pytest.raises(BadInput, match=r"a.pdf crashed the process that read it \(exit 3\)"):
        office_text(path)


def test_memory_is_bounded_and_said(tmp_path, monkeypatch):
    path = pdf(tmp_path / "a.pdf", "x")
    program = tmp_path / "program.py"
    source = office_files.PROGRAM.read_text()
    program.write_text(
        source.replace("def pdf_text(path: str) -> tuple[str, str]:", "def pdf_text(path):\n    bytes(1 << 32)")
    )
    monkeypatch.setattr(office_files, "PROGRAM", program)
    with pytest.raises(BadInput, match="a.pdf needs more than 2,147,483,648 bytes of memory"):
        office_text(path)
