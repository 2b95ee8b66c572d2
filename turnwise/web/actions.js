// What can be done with a turn: copy it, link to it, branch from it, say whether it helped.

import { conversationPath, send } from "./api.js";
import { announce, button, copy, iconButton, make, toast } from "./dom.js";
import { asText } from "./sources.js";

export function actions(view) {
  const row = make("div", { className: "actions" });
  row.setAttribute("role", "group");
  row.ariaLabel = "What you can do with this answer";
  const copied = async (text, said) => {
    await copy(text);
    toast(said, "", 2.5);
    announce(said);
  };
  row.append(
    iconButton("copy", "Copy the answer with its sources", () => copied(asText(view.reply), "Copied, with its sources.")),
    iconButton("link", "Copy a link to this turn", () => copied(view.host.addressOf(view), "The link is copied.")),
    iconButton("branch", "Go on from here in a new conversation", () => view.host.branchAfter(view)),
    ...thumbs(view),
  );
  return row;
}

function thumbs(view) {
  const [up, down] = [["up", "This answer helped"], ["down", "This answer did not help"]].map(([rating, label]) => {
    const thumb = iconButton(rating, label, () => rate(view.feedback?.rating === rating ? null : rating));
    thumb.dataset.rating = rating;
    return thumb;
  });
  const show = () => {
    for (const each of [up, down]) each.ariaPressed = String(view.feedback?.rating === each.dataset.rating);
  };
  const path = () => conversationPath(view.host.id(), `/turns/${view.number}/feedback`);
  const rate = async (rating) => {
    const before = view.feedback;
    view.feedback = rating && { rating, comment: "" };
    show();
    view.element.querySelector(".comment")?.remove();
    try {
      await (rating ? send("PUT", path(), view.feedback) : send("DELETE", path()));
      if (!rating) return;
      const more = comment(view, path(), rating === "up" ? up : down);
      down.closest("footer").append(more);
      more.scrollIntoView({ block: "nearest" });
    } catch (error) {
      view.feedback = before;
      show();
      toast(error.message);
    }
  };
  show();
  return [up, down];
}

// A line to say more, for those who want to.
function comment(view, path, thumb) {
  const asked = view.feedback.rating === "up" ? "What was good about it?" : "What was wrong or missing?";
  const input = make("input", { className: "field", type: "text", placeholder: asked, ariaLabel: asked, maxLength: 2000 });
  const form = make("form", { className: "editor comment" }, input, make("button", { className: "plain", textContent: "Say so" }));
  const close = () => {
    form.remove();
    thumb.focus();
  };
  form.append(button("No, thanks", close));
  form.onsubmit = async (event) => {
    event.preventDefault();
    view.feedback = { ...view.feedback, comment: input.value.trim() };
    close();
    await send("PUT", path, view.feedback).then(() => toast("Thank you.", "", 2.5), (error) => toast(error.message));
  };
  return form;
}

// The question as a field: what is asked instead is asked in a branch, and this conversation stays as it is.
export function editQuestion(view) {
  const asked = view.question.parentElement;
  const box = make("textarea", { className: "field", dir: "auto", value: view.message, rows: 2, ariaLabel: "The question, to be changed" });
  const form = make("form", { className: "editor" }, box, make("button", { className: "strong", textContent: "Ask in a branch" }));
  const close = () => {
    form.replaceWith(asked);
    view.edit.focus();
  };
  form.append(
    button("Cancel", close),
    make("small", { textContent: "A new conversation begins with the turns before this one. This conversation stays as it is." }),
  );
  form.onsubmit = (event) => {
    event.preventDefault();
    form.replaceWith(asked);
    if (box.value.trim()) view.host.branchAt(view, box.value.trim());
  };
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) (event.preventDefault(), form.requestSubmit());
    else return;
    event.stopPropagation();
  });
  asked.replaceWith(form);
  box.focus();
  form.scrollIntoView({ block: "nearest" });
}
