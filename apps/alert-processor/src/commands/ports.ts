import { COMMAND_EXIT, type CommandPorts } from '@tailrace/service';

export const EXIT = COMMAND_EXIT;

export type Ports = CommandPorts;

/** Adds verbs to a noun: each checks its words at once, and works only where more than a check was asked for. */
export interface VerbContext {
  readonly ports: Ports;
  act(work: () => Promise<number>, check?: () => void): Promise<void>;
}
