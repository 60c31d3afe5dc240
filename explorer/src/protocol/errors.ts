// The error of a refused request, in a form for screens.

/** A mistake in the text of a query. The location is a range of characters. */
export interface SqlProblem {
  code: string;
  message: string;
  start: number;
  end: number;
}

/** A refusal of the server. */
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

  /** The mistakes in the text of a query, with their locations. */
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

  /** The message without the parts that are for support staff. */
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

/** The text of any error for a person. */
export function explain(error: unknown): string {
  if (error instanceof ProtocolError) return `${error.text} (${error.status}${error.substatus ? `/${error.substatus}` : ""})`;
  // `fetch` throws a TypeError if it receives no answer.
  if (error instanceof TypeError) return "The server does not answer. Is it still running?";
  return error instanceof Error ? error.message : String(error);
}

/** Returns whether the error is a cancellation, which no screen reports. */
export function isCancelled(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
