import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';

/**
 * IPv4 addresses that are not the public internet's: IANA's special-purpose registry (RFC 6890 and after), multicast and reserved, and
 * Azure's metadata address, which looks public. The other clouds' metadata services stand in link-local, shared or protocol ranges.
 */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16',
  '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32',
]
  .join(' ')
  .split(' ');

/** Within 2000::/3, outside of which no IPv6 address is public: protocols' own (Teredo among them), documentation, and 6to4, which can hold any IPv4 address. */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublic = new BlockList();
for (const range of NOT_PUBLIC_V4) addRange(range, 'ipv4');
for (const range of NOT_PUBLIC_V6) addRange(range, 'ipv6');
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');

function addRange(range: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits] = range.split('/');
  notPublic.addSubnet(address, Number(bits), family);
}

/** Whether an IP address, in any notation that `net` connects to, belongs to the public internet. What is no address does not. */
export function isPublicAddress(address: string): boolean {
  if (!isIPv6(address)) return isIP(address) === 4 && !notPublic.check(address, 'ipv4');
  // Mapped addresses (::ffff:10.0.0.1), zones (fe80::1%eth0) and everything else that is no global unicast lie outside of 2000::/3.
  const plain = address.split('%')[0] ?? '';
  return unicast.check(plain, 'ipv6') && !notPublic.check(plain, 'ipv6');
}

export class PrivateAddress extends Error {
  constructor(host: string, address: string) {
    super(
      host === address
        ? `${address} is a private, loopback or reserved address: set allow_private to true where that is meant`
        : `${host} is at ${address}, a private, loopback or reserved address: set allow_private to true where that is meant`,
    );
    this.name = 'PrivateAddress';
  }
}

export type Lookup = (
  hostname: string,
  options: { readonly all: true; readonly family?: number; readonly hints?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * The look-up of a socket, which gives it public addresses only: what is checked is what is connected to, so a name that points elsewhere between a
 * check and the connection (DNS rebinding) gains nothing. Names only: a socket looks no literal address up (see `literalFault`).
 */
export function publicLookup(resolve: Lookup = systemLookup as Lookup): LookupFunction {
  return (hostname, options, callback) => {
    const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0);
    resolve(hostname, { all: true, family, ...(options.hints === undefined ? {} : { hints: options.hints }) }, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const open = addresses.filter(({ address }) => isPublicAddress(address));
      const [first] = open;
      if (first === undefined) return callback(new PrivateAddress(hostname, addresses[0]?.address ?? 'no address'), '');
      if (options.all === true) callback(null, open);
      else callback(null, first.address, first.family);
    });
  };
}

/** A host that is written as an address, and not a public one. `URL` has made every spelling (0x7f.1, 2130706433, [::ffff:7f00:1]) the one that is checked. */
export function literalFault(host: string): PrivateAddress | undefined {
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  return isIP(address) !== 0 && !isPublicAddress(address) ? new PrivateAddress(address, address) : undefined;
}

/** What keeps a URL from being posted to, in words; undefined: nothing. A secret part of it is not in the words. */
export function urlFault(text: string, allowPrivate: boolean): string | undefined {
  if (!URL.canParse(text)) return 'is no URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `begins with ${url.protocol}, which is neither https: nor http:`;
  if (url.username !== '' || url.password !== '') return 'has a user or password in it: take them out';
  const fault = allowPrivate ? undefined : literalFault(url.hostname);
  return fault === undefined ? undefined : `is refused: ${fault.message}`;
}
