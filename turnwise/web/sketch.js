// An answer as it comes, before the server has rendered it: paragraphs, headings, lists, code, bold and citations.

import { make } from "./dom.js";

// What may become a mark with the next piece: a citation with the space before it, or what stands at the start of a line.
const HELD_BACK = /((^|(?<!\s)\s*\n)[ \t]*(#{1,6}|[-+]|\*{1,2}|\d{1,3}[.)]?|`+\w*)? ?|\*{1,2}| ?(\[\d{0,4})?)$/;
const MARKS = /(\n+[ \t]*(?:#{1,6} |[-*+] |\d{1,3}[.)] |`{3,}\w*)?|\*\*|`| ?\[\d{1,4}\])/;

export class Sketch {
  constructor(box) {
    Object.assign(this, { box, drawn: 0 });
  }

  // Adds what has come of a text since the last time: nothing that is drawn is drawn again.
  draw(text, last = false) {
    const upTo = text.length - (last ? 0 : HELD_BACK.exec(text)[0].length);
    const fresh = text.slice(this.drawn, upTo);
    for (const piece of (this.block || !fresh ? fresh : `\n\n${fresh}`).split(MARKS).filter(Boolean)) {
      const mark = /^ ?\[(\d+)\]$/.exec(piece);
      if (piece.startsWith("\n")) this.line(piece);
      else if (this.block?.localName === "pre") this.block.append(piece);
      else if (!this.block) this.begin("p").append(piece); // behind the end of code
      else if (piece === "**") this.toggle("strong");
      else if (piece === "`") this.toggle("code");
      else this.inline.append(mark ? make("span", { className: "cite", textContent: mark[1] }) : piece);
    }
    this.drawn = upTo;
  }

  line(mark) {
    const opener = mark.trim();
    const inCode = this.block?.localName === "pre";
    if (opener.startsWith("```")) inCode ? (this.block = this.inline = null) : this.begin("pre");
    else if (inCode) this.block.append(this.block.firstChild ? mark : mark.slice(1)); // what opens it ends its line
    else if (opener.startsWith("#")) this.begin("h3");
    else if (/\d/.test(opener)) this.begin("li", this.list("ol")).value = parseInt(opener, 10);
    else if (opener) this.begin("li", this.list("ul"));
    else if (mark.startsWith("\n\n") || !this.block || this.block.localName === "h3") this.begin("p");
    else this.inline.append("\n");
  }

  begin(tag, parent = this.box) {
    this.inline = this.block = make(tag, { className: "streaming", dir: "auto" });
    parent.append(this.block);
    return this.block;
  }

  list(tag) {
    if (this.box.lastElementChild?.localName !== tag) this.box.append(make(tag));
    return this.box.lastElementChild;
  }

  toggle(tag) {
    if (this.inline.localName === tag) this.inline = this.inline.parentElement;
    else this.inline.append((this.inline = make(tag)));
  }
}
