// Copying the commands; the button shows only where it works.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll(".copyable button")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}
