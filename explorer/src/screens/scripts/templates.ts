// The templates of new scripts.

import type { ScriptKind } from "../../protocol/scripts";

export const TEMPLATES: Record<ScriptKind, string> = {
  sprocs: `function hello(name) {
  const context = getContext();
  const container = context.getCollection();
  console.log("asked by " + name);
  container.queryDocuments(container.getSelfLink(), "SELECT VALUE COUNT(1) FROM c", function (error, rows) {
    if (error) throw error;
    context.getResponse().setBody({ hello: name, items: rows[0] });
  });
}
`,
  triggers: `function stamp() {
  const request = getContext().getRequest();
  const item = request.getBody();
  item.seen = new Date().toISOString();
  request.setBody(item);
}
`,
  udfs: `function gross(price) {
  return price * 1.2;
}
`,
};
