from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.conftest import Shelves
from turnwise.documents.bibliography import Entry, attached_files, read_bibliography
from turnwise.documents.bibliography.bibtex import read_bibtex
from turnwise.documents.bibliography.csl_json import read_csl
from turnwise.documents.bibliography.ris import read_ris
from turnwise.documents.files import _entry_items
from turnwise.documents.ingest import add, remove
from turnwise.errors import UnreadableDocument
from turnwise.types import Reference

BIBTEX = r"""
Words between entries are comments, as is an @ sign.
@comment{ignored = {yes}}
@preamble{"\newcommand{\x}{y}"}
@string{jb = "Journal of " # {Birds}}
@Article{smith2020,
  title = {The {Heron} of F{\"u}nen: 50\% more {\ss} --- a \emph{study} of $\alpha$},
  author = {Smith, J{\'o}hn and Anna van der Berg and {\v{C}}apek, Karel and {WHO Group} and others},
  journal = jb # " and Bees", year = 2020, month = may,
  doi = {https://doi.org/10.1000/xyz_1}, abstract = "It \& they said ``yes''.",
  keywords = {birds, fish},
  file = {Full Text:files/12/a\;b.pdf:application/pdf;Snapshot:files/13/page.html:text/html},
}
@book{ng2019, title = "Storks", author = "Ng, Wei", date = {2019-03-04}, url = {https://example.org/a\_b}}
@misc{broken, title = {No end
"""


def test_bibtex() -> None:
    smith, ng, broken = read_bibtex(BIBTEX)
    assert smith == Entry(
        "smith2020",
        "The Heron of Fünen: 50% more ß — a study of α",
        ("Smith, Jóhn", "van der Berg, Anna", "Čapek, Karel", "WHO Group"),
        "2020-05",
        "Journal of Birds and Bees",
        "It & they said “yes”.",
        "birds, fish",
        "https://doi.org/10.1000/xyz_1",
        ("files/12/a;b.pdf", "files/13/page.html"),
        {"type": "article-journal", "container-title": "Journal of Birds and Bees", "DOI": "10.1000/xyz_1"},
    )
    csl = {"type": "book", "issued": "2019-03-04"}
    assert (ng.date, ng.url, ng.reference) == (
        "2019-03-04",
        "https://example.org/a_b",
        Reference("ng2019", ("Ng, Wei",), 2019, "https://example.org/a_b", csl),
    )
    assert (broken.key, broken.title) == ("broken", "No end")


@pytest.mark.parametrize(
    ("broken", "title", "date"),
    [
        ("@article{a, title = {Herons, year = {2000}\n", "Herons, year = 2000", ""),
        ("@article{a,\n title = {On {Herons,\n year = {2000},\n}\n\n", "On Herons", "2000"),
        ('@article{a,\n title = "On Herons,\n year = {2000}\n}\n\n', "On Herons, year = 2000", ""),
        ("@article{a, title = {On Herons}, year = 2000\n", "On Herons", "2000"),
    ],
)
def test_an_entry_that_is_not_closed_swallows_no_others(broken: str, title: str, date: str) -> None:
    first, second, third = read_bibtex(
        broken + "@article{b, title = {On {Storks}}}\n  @misc{c,\n title = {A mail to x\n@y}}\n"
    )
    assert (first.key, first.title, first.date, first.cut) == ("a", title, date, True)
    assert (second.title, second.cut) == ("On Storks", False)
    assert (third.title, third.cut) == ("A mail to x @y", False)


def test_an_entry_without_a_key_is_given_one() -> None:
    (entry,) = read_bibtex("@article{, title = {On Herons}, author = {Ng, Wei}, year = 2020}")
    assert entry.key == "ng2020herons"


@pytest.mark.parametrize(
    ("field", "files"),
    [
        ("paper.pdf", ("paper.pdf",)),
        ("a.pdf;b.pdf", ("a.pdf", "b.pdf")),
        (":files/a.pdf:PDF", ("files/a.pdf",)),
        ("Full Text:files/a b.pdf:application/pdf", ("files/a b.pdf",)),
        (r"C\:\\papers\\a.pdf", (r"C:\papers\a.pdf",)),
        (r"Full:C\:\\papers\\a.pdf:application/pdf", (r"C:\papers\a.pdf",)),
        ("/home/me/a.pdf", ("/home/me/a.pdf",)),
        ("a.pdf:application/pdf", ("a.pdf",)),
        ("", ()),
    ],
)
def test_the_ways_in_which_programs_name_files(field: str, files: tuple[str, ...]) -> None:
    (entry,) = read_bibtex(f"@misc{{x, title = {{T}}, file = {{{field}}}}}")
    assert entry.files == files


RIS = """TY  - JOUR
TI  - The heron of
  Fünen
AU  - Smith, John
A1  - Anna van der Berg
PY  - 2020
DA  - 2020/05/06/
JO  - J. Birds
AB  - They eat fish.
KW  - birds
KW  - fish
DO  - 10.1000/xyz
L1  - files/a.pdf
L1  - https://example.org/b.pdf
ER  -

TY  - BOOK
T1  - Storks
ID  - ng
"""


def test_ris() -> None:
    first, second = read_ris(RIS)
    assert first == Entry(
        "smith2020heron",
        "The heron of Fünen",
        ("Smith, John", "van der Berg, Anna"),
        "2020-05-06",
        "J. Birds",
        "They eat fish.",
        "birds, fish",
        "https://doi.org/10.1000/xyz",
        ("files/a.pdf",),
        {"type": "article-journal", "container-title": "J. Birds", "DOI": "10.1000/xyz"},
    )
    assert (second.key, second.title, second.reference.year) == ("ng", "Storks", None)


def test_csl_json(tmp_path: Path) -> None:
    items = [
        {
            "id": "smith2020",
            "type": "article-journal",
            "title": "The <i>heron</i> &amp; I",
            "author": [{"family": "Berg", "given": "Anna", "non-dropping-particle": "van der"}, {"literal": "WHO"}],
            "issued": {"date-parts": [[2020, 5]]},
            "DOI": "10.1000/xyz",
        }
    ]
    path = tmp_path / "refs.json"
    path.write_text(json.dumps(items))
    (entry,) = read_bibliography(path) or []
    assert (entry.title, entry.authors, entry.date) == ("The heron & I", ("van der Berg, Anna", "WHO"), "2020-05")
    path.write_text(json.dumps({"name": "a package", "version": 1}))
    assert read_bibliography(path) is None


values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from("a2\0\ud800é<&;"), max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["family", "path", "raw"]), inner),
    max_leaves=5,
)
FIELDS = (
    "author",
    "creators",
    "editor",
    "issued",
    "date",
    "attachments",
    "id",
    "DOI",
    "URL",
    "abstract",
    "page",
    "volume",
)


@given(values, st.dictionaries(st.sampled_from(FIELDS), values), st.dictionaries(st.just("date-parts"), values))
def test_any_json_is_read_to_its_end(title: object, said: dict[str, object], issued: dict[str, object]) -> None:
    for item in ({"type": "book", "title": title, **said}, {"type": "book", "title": title, **said, "issued": issued}):
        for entry in read_csl(json.dumps([item])) or []:
            texts = (
                entry.key,
                entry.title,
                *entry.authors,
                entry.date,
                entry.venue,
                entry.url,
                entry.text,
                *entry.csl.values(),
            )
            assert "".join(texts).encode()  # none holds half of a character


RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:bib="http://purl.org/net/biblio#"
 xmlns:z="http://www.zotero.org/namespaces/export#" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:dcterms="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/"
 xmlns:link="http://purl.org/rss/1.0/modules/link/">
<bib:Article rdf:about="#item_1"><z:itemType>journalArticle</z:itemType>
 <dcterms:isPartOf rdf:resource="urn:issn:1234"/>
 <bib:authors><rdf:Seq><rdf:li><foaf:Person><foaf:surname>Smith</foaf:surname><foaf:givenName>John</foaf:givenName>
 </foaf:Person></rdf:li></rdf:Seq></bib:authors>
 <link:link rdf:resource="#item_2"/><link:link rdf:resource="#item_3"/>
 <dc:subject>birds</dc:subject><dc:title>On herons</dc:title><dcterms:abstract>They eat fish.</dcterms:abstract>
 <dc:date>2020-05</dc:date></bib:Article>
<bib:Journal rdf:about="urn:issn:1234"><dc:title>J. Birds</dc:title><dc:identifier>DOI 10.1000/xyz</dc:identifier>
</bib:Journal>
<z:Attachment rdf:about="#item_2"><z:itemType>attachment</z:itemType><rdf:resource rdf:resource="files/2/a.pdf"/>
 <dc:title>Full Text</dc:title></z:Attachment>
<bib:Memo rdf:about="#item_3"><rdf:value>a note</rdf:value></bib:Memo>
<bib:Book rdf:about="urn:isbn:1"><dc:title>Storks</dc:title><dc:identifier><dcterms:URI>
 <rdf:value>https://example.org/</rdf:value></dcterms:URI></dc:identifier></bib:Book></rdf:RDF>"""


def test_zotero_rdf(tmp_path: Path) -> None:
    path = tmp_path / "library.rdf"
    path.write_text(RDF)
    herons, storks = read_bibliography(path) or []
    assert herons == Entry(
        "smith2020herons",
        "On herons",
        ("Smith, John",),
        "2020-05",
        "J. Birds",
        "They eat fish.",
        "birds",
        "https://doi.org/10.1000/xyz",
        ("files/2/a.pdf",),
        {"type": "article-journal", "container-title": "J. Birds", "DOI": "10.1000/xyz"},
    )
    assert (storks.title, storks.url) == ("Storks", "https://example.org/")
    for wrong in ("<rdf", "<a/>", f"<!DOCTYPE x [<!ENTITY e 'x'>]>{RDF}"):
        path.write_text(wrong)
        with pytest.raises(UnreadableDocument, match="no entries"):
            read_bibliography(path)


def test_all_formats_tell_a_citation_style_the_same(tmp_path: Path) -> None:
    """One chapter, as each of the formats says it."""
    bibtex = r"""@incollection{k, title = {Herons}, author = {Smith, John}, editor = {Ng, Wei and Olsen, Kari},
      booktitle = {Birds}, volume = 2, pages = {10--20}, publisher = {Press}, address = {Oslo}, year = 2020,
      doi = {10.1000/x}}"""
    ris = """TY  - CHAP\nTI  - Herons\nAU  - Smith, John\nA2  - Ng, Wei\nA2  - Olsen, Kari\nT2  - Birds\nVL  - 2
SP  - 10\nEP  - 20\nPB  - Press\nCY  - Oslo\nPY  - 2020\nDO  - 10.1000/x\nER  -"""
    people = [{"family": "Ng", "given": "Wei"}, {"family": "Olsen", "given": "Kari"}]
    item = {
        "type": "chapter",
        "title": "Herons",
        "author": [{"family": "Smith", "given": "John"}],
        "editor": people,
        "container-title": "Birds",
        "volume": 2,
        "page": "10-20",
        "publisher": "Press",
        "publisher-place": "Oslo",
        "issued": {"date-parts": [[2020]]},
        "DOI": "https://doi.org/10.1000/x",
    }
    person = (
        "<rdf:li><foaf:Person><foaf:surname>{}</foaf:surname><foaf:givenName>{}</foaf:givenName></foaf:Person></rdf:li>"
    )
    rdf = (
        f"{RDF[: RDF.index('<bib:Article')]}<bib:BookSection rdf:about='#i'><z:itemType>bookSection</z:itemType>"
        "<dcterms:isPartOf><bib:Book><dc:title>Birds</dc:title><prism:volume>2</prism:volume></bib:Book></dcterms:isPartOf>"
        "<dc:publisher><foaf:Organization><vcard:adr><vcard:Address><vcard:locality>Oslo</vcard:locality></vcard:Address>"
        "</vcard:adr><foaf:name>Press</foaf:name></foaf:Organization></dc:publisher>"
        f"<bib:authors><rdf:Seq>{person.format('Smith', 'John')}</rdf:Seq></bib:authors>"
        f"<bib:editors><rdf:Seq>{person.format('Ng', 'Wei')}{person.format('Olsen', 'Kari')}</rdf:Seq></bib:editors>"
        "<dc:title>Herons</dc:title><dc:date>2020</dc:date><bib:pages>10-20</bib:pages>"
        "<dc:identifier>DOI 10.1000/x</dc:identifier></bib:BookSection></rdf:RDF>"
    ).replace("<rdf:RDF ", '<rdf:RDF xmlns:prism="urn:prism" xmlns:vcard="urn:vcard" ')
    for name, text in {"a.bib": bibtex, "a.ris": ris, "a.json": json.dumps([item]), "a.rdf": rdf}.items():
        (tmp_path / name).write_text(text)
        (entry,) = read_bibliography(tmp_path / name) or []
        assert (entry.title, entry.reference.authors) == ("Herons", ("Smith, John",))
        assert entry.reference.csl == {
            "type": "chapter",
            "container-title": "Birds",
            "editor": "Ng, Wei; Olsen, Kari",
            "volume": "2",
            "page": "10–20",
            "publisher": "Press",
            "publisher-place": "Oslo",
            "DOI": "10.1000/x",
            "issued": "2020",
        }, name


@given(st.text(st.sampled_from('@article{}"=,#\\\n ab1'), max_size=200) | st.text(max_size=80))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for entry in [*read_bibtex(text), *read_ris(text)]:
        assert all(isinstance(author, str) for author in entry.authors)


@pytest.mark.parametrize(
    "text",
    [
        "@misc{x," + " " * 200_000,
        "@misc{" + " " * 200_000 + "x",
        "@misc{x, author = {" + "a " + " " * 200_000 + "}",
        "@" * 200_000,
        "@misc{x, title = {" * 20_000,
        "@misc{x, title = {T" + "\nx = {" * 50_000,
        "@misc{x, title = {T" + "\n" * 200_000,
        "@misc{x, title = " + "{" * 200_000,
        "@misc{x, title = {" + "\\'{ " * 50_000,
        "@misc{x, title = {T}, file = {" + ";" * 200_000,
        "TY  - JOUR\nTI  - x\n" + "and so on\n" * 200_000,
    ],
)
def test_a_long_and_senseless_bibliography_takes_no_longer_than_its_length(text: str) -> None:
    assert len([*read_bibtex(text), *read_ris(text)]) <= 1


# --- as documents ----------------------------------------------------------------------------------------------------


ARTICLE = {"type": "article-journal", "issued": "2020"}


def test_entries_that_are_not_closed_are_reported(folder: Path, shelves: Shelves) -> None:
    file = folder / "refs.bib"
    file.write_text("@misc{a, title = {On Herons\n@misc{b, title = {On Storks}}\n@misc{c, title = {On Ibises}}\n")
    report = add(shelves, [file])
    assert report.added == 3
    assert [each.message for each in report.failed] == [f"{file} has an entry that is not closed: “a”"]


def test_a_blank_bibliography_is_empty(folder: Path, shelves: Shelves) -> None:
    for name in ("a.bib", "a.ris", "a.rdf"):
        (folder / name).write_text(" \n")
    assert [each.message for each in add(shelves, [folder]).failed] == [
        f"{folder / name} is empty." for name in ("a.bib", "a.rdf", "a.ris")
    ]


@pytest.fixture
def library(folder: Path, make_pdf: Callable[..., bytes]) -> Path:
    """A folder as Zotero exports one: a bibliography, and the files beside it."""
    (folder / "files" / "12").mkdir(parents=True)
    (folder / "files" / "12" / "Smith - Heron.pdf").write_bytes(make_pdf([["Herons eat fish."]], "scan0001.tif"))
    (folder / "refs.bib").write_text(
        "@article{smith2020, title = {On herons}, author = {Smith, John}, year = 2020,"
        " file = {PDF:files/12/Smith - Heron.pdf:application/pdf}}\n"
        "@book{ng2019, title = {Storks}, author = {Ng, Wei}, year = 2019, abstract = {They nest on chimneys.},"
        " file = {files/13/gone.pdf}}\n"
    )
    return folder


def test_a_bibliography_stands_for_its_files_and_its_entries(library: Path, shelves: Shelves) -> None:
    for source in (library, library / "refs.bib"):  # the file is met in the folder, or only named
        shelves.kept.clear()
        report = add(shelves, [source])
        assert report.added == 2
        heron, storks = shelves.named("Heron.pdf"), shelves.named("refs.bib#ng2019")
        assert (heron.title, heron.date) == ("On herons", "2020")
        assert heron.reference == Reference("smith2020", ("Smith, John",), 2020, "", ARTICLE)
        assert (storks.title, storks.date) == ("Storks", "2019")
        assert storks.chunks[0].text == "Storks\n\nNg, Wei (2019)\n\nThey nest on chimneys."
        (failure,) = report.failed
        assert "names a file that does not exist" in failure.message
        assert "gone.pdf" in failure.message


def test_files_are_found_by_the_names_that_programs_give_them(folder: Path) -> None:
    (folder / "a b.pdf").write_bytes(b"x")
    (folder / "in").mkdir()
    (folder / "in" / "c.pdf").write_bytes(b"x")
    named = [
        "a b.pdf",
        f"file://{folder}/a%20b.pdf",
        f"{folder}/a b.pdf",
        f"{folder}/a b.pdf".lstrip("/"),
        "in\\c.pdf",
    ]
    there, missing = attached_files(Entry("k", "t", files=(*named, "gone.pdf")), folder)
    assert [path.resolve() for path in there] == [folder / "a b.pdf"] * 4 + [folder / "in" / "c.pdf"]
    assert missing == [str(folder / "gone.pdf")]


def test_an_entry_that_gets_its_file_or_is_deleted_is_taken_out(
    library: Path, shelves: Shelves, make_pdf: Callable[..., bytes]
) -> None:
    add(shelves, [library])
    (library / "files" / "13").mkdir()
    (library / "files" / "13" / "gone.pdf").write_bytes(make_pdf([["Storks nest."]]))
    report = add(shelves, [library])
    assert (report.added, report.unchanged, report.failed) == (1, 1, ())
    assert sorted(Path(source).name for source in shelves.kept) == ["Smith - Heron.pdf", "gone.pdf"]
    assert shelves.named("gone.pdf").title == "Storks"


def test_a_changed_entry_changes_its_document(library: Path, shelves: Shelves) -> None:
    add(shelves, [library])
    bibliography = library / "refs.bib"
    bibliography.write_text(bibliography.read_text().replace("John}", "Jane}"))
    report = add(shelves, [library])
    assert (report.updated, report.unchanged) == (1, 1)
    assert shelves.named("Heron.pdf").reference == Reference("smith2020", ("Smith, Jane",), 2020, "", ARTICLE)


def test_a_bibliography_is_removed_with_its_entries(library: Path, shelves: Shelves) -> None:
    add(shelves, [library])
    assert remove(shelves, str(library / "refs.bib"))
    assert [Path(source).name for source in shelves.kept] == ["Smith - Heron.pdf"]
    assert not remove(shelves, str(library / "refs.bib"))


def test_entries_of_one_key_are_two_documents(folder: Path, shelves: Shelves) -> None:
    (folder / "a.bib").write_text("@misc{x, title = {One}}\n@misc{x, title = {Two}}")
    assert add(shelves, [folder]).added == 2
    assert [each.source.rpartition("#")[2] for each in shelves.documents()] == ["x", "x'"]
    entries = [(folder / "a.bib", Entry(key, "Title"), []) for key in ("x", "x'", "x", "x", *["y"] * 20_000)]
    sources = [item.source.rpartition("#")[2] for item in _entry_items(entries)]
    assert len(set(sources)) == len(sources)
    assert max(map(len, sources)) < 10


def test_a_name_of_a_file_that_can_be_none_is_missing(folder: Path) -> None:
    entry = Entry("x", "Title", files=("file://[x", "file:///a\0b.pdf"))
    assert attached_files(entry, folder)[0] == []
    assert len(attached_files(entry, folder)[1]) == 2


def test_json_that_is_no_bibliography_is_a_file(folder: Path, shelves: Shelves) -> None:
    (folder / "settings.json").write_text('{"colour": "blue"}')
    add(shelves, [folder])
    assert shelves.named("settings.json").title == "settings.json"


def test_a_broken_bibliography_is_reported(folder: Path, shelves: Shelves) -> None:
    (folder / "a.bib").write_text("nothing of the kind")
    (folder / "b.ris").write_bytes(b"\x89PNG\0\0")
    report = add(shelves, [folder])
    assert [failure.code for failure in report.failed] == ["UnreadableDocument"] * 2
    with pytest.raises(UnreadableDocument, match="no entries"):
        read_bibliography(folder / "a.bib")
