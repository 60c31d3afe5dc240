// What the server says when it refuses, in a form that a screen can use.

export interface SqlProblem {
  code: string;
  message: string;
  start: number;
  end: number;
}

export class ProtocolError extends Error {
  constructor(
    readonly status: number,
    readonly substatus: number,
    readonly code: string,
    message: string,
    readonly activityId: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }

  /** Problems of a query with their places, if this is a refused query. */
  get problems(): SqlProblem[] {
    const object = /\{"errors":\[[\s\S]*\]\}/.exec(this.message)?.[0];
    if (!object) return [];
    try {
      const { errors } = JSON.parse(object) as {
        errors: { code: string; message: string; location?: { start: number; end: number } }[];
      };
      return errors.map(({ code, message, location }) => ({
        code,
        message,
        start: location?.start ?? 0,
        end: location?.end ?? 0,
      }));
    } catch {
      return [];
    }
  }

  /** The message without the decoration that only support staff reads. */
  get text(): string {
    const problems = this.problems;
    if (problems.length > 0) return problems.map((problem) => problem.message).join("\n");
    const plain = this.message.replace(/^Message: /, "").replace(/\r?\nActivityId:[\s\S]*$/, "").trim();
    try {
      const { Errors } = JSON.parse(plain) as { Errors?: string[] };
      return Errors?.join("\n") ?? plain;
    } catch {
      return plain;
    }
  }
}

export function explain(error: unknown): string {
  if (error instanceof ProtocolError) return `${error.text} (${error.status}${error.substatus ? `/${error.substatus}` : ""})`;
  if (error instanceof TypeError) return "The server does not answer. Is it still running?";
  return error instanceof Error ? error.message : String(error);
}

export function isCancelled(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
