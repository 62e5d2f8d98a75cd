export type Environment = Readonly<Record<string, string | undefined>>;

/** What the services inherit: the environment of this process. */
export function inheritedEnvironment(): Environment {
  return process.env;
}
