// An OpenID Connect provider (a certified implementation) on a free loopback port or the given one.
// Its pages accept any user name and password. It reports the groups of a user, and generates new
// keys at each start. Argument: a JSON object with `redirect_uris`, `post_logout_redirect_uris`,
// and optionally `port`, `thin` (claims only at the UserInfo endpoint), `other_keys` (publish keys
// that do not sign the tokens), and `certificate` with `key` (files, for HTTPS).
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { Provider } from 'oidc-provider';

const options = JSON.parse(process.argv[2]);
const groups = { alice: ['sre', 'staff'], otto: ['oncall'], guest: [], root: ['sre'] };
// E-mail addresses and `email_verified` claims. Some providers send the claim as a string, others
// omit it.
const emails = { boss: ['boss@example.org', true], texan: ['texan@example.org', 'true'], stranger: ['boss@example.org', false], mute: ['boss@example.org'] };

const key = () => ({ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' });
const publicPart = ({ kty, n, e, kid, use, alg }) => ({ kty, n, e, kid, use, alg });

const identity = options.certificate && { cert: readFileSync(options.certificate), key: readFileSync(options.key) };
const server = identity ? createSecureServer(identity) : createServer();
server.listen(options.port ?? 0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address();

const signing = { ...key(), kid: `k${Date.now()}` };
const provider = new Provider(`${identity ? 'https' : 'http'}://127.0.0.1:${port}`, {
    clients: [
        {
            client_id: 'lockkeeper',
            client_secret: 'a secret of the client, and not a short one',
            redirect_uris: options.redirect_uris,
            post_logout_redirect_uris: options.post_logout_redirect_uris,
        },
    ],
    jwks: { keys: [signing] },
    cookies: { keys: ['only for tests'] },
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups', 'realm_access'], email: ['email', 'email_verified'] },
    scopes: ['openid', 'profile', 'groups', 'email'],
    conformIdTokenClaims: options.thin ?? false,
    pkce: { required: () => true },
    findAccount: (_, sub) => ({
        accountId: sub,
        claims: () => ({ sub, preferred_username: sub, groups: groups[sub], realm_access: { roles: groups[sub] }, email: emails[sub]?.[0], email_verified: emails[sub]?.[1] }),
    }),
});

const handle = provider.callback();
const published = options.other_keys ? { ...publicPart(key()), kid: signing.kid } : publicPart(signing);
server.on('request', (request, response) => {
    if (request.url === '/jwks' && options.other_keys) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ keys: [published] }));
        return;
    }
    handle(request, response);
});
process.stdout.write(`${port}\n`);
