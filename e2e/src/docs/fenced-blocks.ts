/** A fenced block of a page. `output` is the block without a language that directly follows: what the page says is printed. */
export interface FencedBlock {
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly output: string | undefined;
}

/** The fenced blocks of a Markdown page that name a language. Throws where a fence is not closed. */
export function fencedBlocks(page: string): FencedBlock[] {
  const lines = page.split('\n');
  const blocks: { line: number; language: string; text: string; end: number }[] = [];
  for (let i = 0; i < lines.length; i += 1) {
    const fence = /^```(\w*)$/.exec(lines[i] ?? '');
    if (fence === null) continue;
    const end = lines.indexOf('```', i + 1);
    if (end < 0) throw new Error(`line ${i + 1}: the fence is not closed`);
    blocks.push({ line: i + 1, language: fence[1] ?? '', text: lines.slice(i + 1, end).join('\n'), end });
    i = end;
  }
  return blocks.flatMap(({ line, language, text, end }, i) => {
    if (language === '') return [];
    const next = blocks[i + 1];
    const follows = next?.language === '' && lines.slice(end + 1, next.line - 1).every((between) => between.trim() === '');
    return [{ line, language, text, output: follows ? next.text : undefined }];
  });
}
