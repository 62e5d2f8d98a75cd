/** What went wrong as one line: DuckDB puts paragraphs of advice behind its sentence. */
export function firstLine(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.split('\n', 1)[0] ?? message;
}
