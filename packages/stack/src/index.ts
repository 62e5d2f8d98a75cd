export { type Endpoints, endpointsFromEnvironment, environmentOf } from './config.ts';
export { useGivenServers } from './given.ts';
export { type BrokerCount, type BrokerName, brokerNames, type InstanceName } from './instances.ts';
export { type Stack, type StackOptions, type StackPlace, startStack } from './stack.ts';
export { fullDisk } from './toolchain/data-folder.mjs';
export { describeFailure, exitCodeOf, Failure } from './toolchain/failure.mjs';
export type { ServerName } from './toolchain/servers.mjs';
export { trainArchives } from './train.ts';
