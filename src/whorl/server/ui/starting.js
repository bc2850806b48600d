// The question before a pipeline is started.

import { show } from "./dialog.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { button } from "./parts.js";

/** Whether the user wants it. */
export async function start(name, file, files) {
  const answer = await show({
    title: "Submit the pipeline?",
    view: () => h("p", {}, h("strong", {}, name || file), ` and ${plural(files, "file")} in all become a job of this server. It starts as soon as there are slots for it, makes the topics that it needs, and runs until it is stopped.`),
    actions: (dialog) => [button("Leave it", () => dialog.close(false)), button("Submit", () => dialog.close(true), { kind: "primary", sign: "bolt" })],
  });
  return answer === true;
}
