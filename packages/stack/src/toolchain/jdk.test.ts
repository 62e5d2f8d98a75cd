import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chooseJdk, chooseOpenSearch, newest, readJdk } from './jdk.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'jdk-test-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function install(folder: string, version: string, programs: readonly string[] = ['java', 'javac']): string {
  const home = join(root, folder);
  mkdirSync(join(home, 'bin'), { recursive: true });
  for (const program of programs) writeFileSync(join(home, 'bin', program), '');
  writeFileSync(join(home, 'release'), `IMPLEMENTOR="x"\nJAVA_VERSION="${version}"\nJAVA_VERSION_DATE="2026-01-01"\n`);
  return home;
}

test.each([
  ['25.0.3', 25],
  ['17.0.15', 17],
  ['1.8.0_402', 8],
  ['26', 26],
])('version %s is Java %i', (version, major) => {
  expect(readJdk(install('jdk', version))).toMatchObject({ version, major });
});

test('a Java without a compiler is no JDK', () => {
  expect(readJdk(install('jre', '25', ['java']))).toBeUndefined();
});

test('versions are compared as numbers: 17.0.15 is newer than 17.0.9, and 1.8 is old', () => {
  const jdk = (version: string) => ({ home: version, version, major: 0 });
  expect(newest(['17.0.9', '1.8.0_402', '17.0.15', '9.0.4'].map(jdk))?.version).toBe('17.0.15');
});

describe('which JDK is used', () => {
  const env = () => ({ PATH: '/none', HOME: join(root, 'home') });

  test('the newest that is installed anywhere, not the one on the PATH', () => {
    const onPath = install('elsewhere/jdk-17', '17.0.2');
    install('usr/lib/jvm/java-21', '21.0.1');
    install('home/.sdkman/candidates/java/25.0.1-tem', '25.0.1');
    expect(chooseJdk({ ...env(), PATH: join(onPath, 'bin') }, root).version).toBe('25.0.1');
  });

  test("JAVA_HOME's, where it is new enough", () => {
    install('usr/lib/jvm/java-25', '25.0.1');
    expect(chooseJdk({ ...env(), JAVA_HOME: install('own', '17.0.1') }, root).version).toBe('17.0.1');
    expect(chooseJdk({ ...env(), JAVA_HOME: install('old', '11.0.1') }, root).version).toBe('25.0.1');
  });

  test('the one that TAILRACE_JAVA names, before all others; a wrong name is said, not passed over', () => {
    const forced = install('forced', '17.0.4');
    expect(chooseJdk({ ...env(), JAVA_HOME: install('own', '25'), TAILRACE_JAVA: forced }, root).home).toBe(forced);
    expect(() => chooseJdk({ ...env(), TAILRACE_JAVA: '/none' }, root)).toThrow(/^TAILRACE_JAVA names \/none, where no JDK lies/);
    expect(() => chooseJdk({ ...env(), TAILRACE_JAVA: install('older', '11.0.1') }, root)).toThrow(/Java 17 or newer is needed/);
  });

  test('without any, and with old ones only, one sentence says what to install', () => {
    expect(() => chooseJdk(env(), root)).toThrow(/^No JDK was found, .*: install JDK 21 or newer, .* then run the command again\.$/);
    install('usr/lib/jvm/java-11', '11.0.1');
    expect(() => chooseJdk(env(), root)).toThrow(/^The newest JDK found is 11\.0\.1 in .*Java 17 or newer is needed/);
  });
});

describe('which OpenSearch runs', () => {
  const java = (major: number) => ({ home: '/jdk', version: String(major), major });

  test.each([
    [undefined, 25, 3],
    [undefined, 21, 3],
    [undefined, 17, 2],
    ['', 17, 2],
    ['2', 25, 2],
    ['3', 21, 3],
  ])('TAILRACE_OPENSEARCH=%s on Java %i: %i', (forced, major, line) => {
    expect(chooseOpenSearch({ TAILRACE_OPENSEARCH: forced }, java(major))).toBe(line);
  });

  test('what can not be is said', () => {
    expect(() => chooseOpenSearch({ TAILRACE_OPENSEARCH: '3' }, java(17))).toThrow(/needs Java 21, and Java 17 in \/jdk was chosen/);
    expect(() => chooseOpenSearch({ TAILRACE_OPENSEARCH: 'latest' }, java(25))).toThrow(/is "latest": set it to 2 or 3, or unset it\.$/);
  });
});
