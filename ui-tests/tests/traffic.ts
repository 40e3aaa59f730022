import type { CDPSession } from '@playwright/test';

/** A request of a page, with the bytes of its reply on the wire, headers included. */
export interface PageRequest {
  method: string;
  /** The path below the server's base URL, with the query. */
  address: string;
  bytes: number;
}

/** What a page asks of this package, and of the Contents API for one notebook. */
export class Traffic {
  private readonly requests = new Map<string, PageRequest>();
  private readonly unfinished = new Set<string>();

  private constructor(private readonly path: string) {}

  /** Watch a page from now on; `path` is the notebook. */
  static async watch(session: CDPSession, path: string): Promise<Traffic> {
    const traffic = new Traffic(path);
    const base = new URL(process.env.TARGET_URL!).pathname.replace(/\/$/, '');
    session.on('Network.requestWillBeSent', ({ requestId, request }) => {
      const { pathname, search } = new URL(request.url);
      const address = pathname.slice(base.length) + search;
      traffic.unfinished.add(requestId);
      traffic.requests.set(requestId, { method: request.method, address, bytes: 0 });
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const request = traffic.requests.get(requestId);
      if (request) {
        request.bytes = encodedDataLength;
      }
      traffic.unfinished.delete(requestId);
    });
    session.on('Network.loadingFailed', ({ requestId }) => traffic.unfinished.delete(requestId));
    await session.send('Network.enable');
    return traffic;
  }

  /** Whether the page has got every reply that it has asked for since it is watched. */
  get isFinished(): boolean {
    return this.unfinished.size === 0;
  }

  /** Return the requests since the last call, each as `METHOD address`. */
  take(): PageRequest[] {
    const contents = `/api/contents/${this.path.split('/').map(encodeURIComponent).join('/')}`;
    const found = [...this.requests.values()].filter(
      ({ address }) => address.startsWith('/nbedit') || address.startsWith(contents)
    );
    this.requests.clear();
    return found;
  }
}
