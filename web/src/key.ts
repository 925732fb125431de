/** The dialog for the API key. */
import { apiKey, isKeyRemembered, setApiKey } from "./api";
import { byId } from "./dom";

/** Set up the dialog; return a function that opens it with a message, an error only if a key was sent. */
export function setUpKeyDialog(onChanged: () => void, onCancelled: () => void = () => undefined): (message: string) => void {
  const dialog = byId("key-dialog", HTMLDialogElement);
  const input = byId("key", HTMLInputElement);
  const remember = byId("remember-key", HTMLInputElement);
  const open = (message: string) => {
    byId("key-message", HTMLElement).textContent = message;
    byId("key-message", HTMLElement).classList.toggle("error", apiKey() !== null);
    input.value = apiKey() ?? "";
    remember.checked = isKeyRemembered();
    dialog.returnValue = "";
    if (!dialog.open) dialog.showModal();
    input.select();
  };
  byId("key-button", HTMLButtonElement).addEventListener("click", () => open(""));
  byId("cancel-key", HTMLButtonElement).addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "used") onCancelled();
  });
  byId("key-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    setApiKey(input.value.trim() || null, remember.checked);
    dialog.close("used");
    onChanged();
  });
  return open;
}
