// The colours that were chosen, before anything is painted in others.
document.documentElement.dataset.theme = localStorage.getItem("turnwise-theme") ?? "";
