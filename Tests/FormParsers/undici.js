// Prints the parts of the form in a file, as the fetch of Node.js reads them. Without a file, tests that it is there.
const { createHash } = require('crypto');
const { readFileSync } = require('fs');

const digest = (data) => createHash('sha256').update(data).digest('hex');
const [path, type] = process.argv.slice(2);

async function main() {
  const form = await new Response(readFileSync(path), { headers: { 'content-type': type } }).formData();
  const parts = [];
  for (const [name, value] of form) {
    const isText = typeof value === 'string';
    parts.push([
      name, isText ? null : value.name, digest(isText ? value : Buffer.from(await value.arrayBuffer()))]);
  }
  console.log(JSON.stringify(parts));
}

if (!path) process.exit(typeof Response === 'function' ? 0 : 1);
main().catch((error) => { console.error(String(error)); process.exit(1); });
