/** Controls, all format characters (they turn the direction, join, hide: U+061C, U+200B, U+FEFF, tags), line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text for a terminal: what would move its cursor, colour it, turn its direction or not be seen is written as an escape. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
