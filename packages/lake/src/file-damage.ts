/** The content of one object is not what it should be. The store itself answers: everything else can be looked at. */
export class FileDamage extends Error {
  readonly file: string;
  readonly what: string;

  constructor(file: string, what: string) {
    super(`The lake file ${file} is damaged: ${what}.`);
    this.file = file;
    this.what = what;
    this.name = 'FileDamage';
  }
}

/** Of an object that a listing names and a read does not find: somebody deleted it in between. */
export const GONE = 'it was listed, and then was not there';
