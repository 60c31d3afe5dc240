// The first lines of a program in each language, for this endpoint.

export interface Snippet {
  language: string;
  install: string;
  code: (endpoint: string, key: string) => string;
  /** A step that is needed beside the program. */
  note?: (endpoint: string) => string | undefined;
}

/** A server without TLS. Its listener for direct mode has TLS all the same, with a certificate that clients which
 * connect by plain HTTP have not trusted, so programs for it say that they use the gateway. */
const isPlain = (endpoint: string) => endpoint.startsWith("http:");
/** Whether the server is on this machine. Such a server usually makes its certificate itself. */
const isLocal = (endpoint: string) => ["localhost", "127.0.0.1", "[::1]"].includes(new URL(endpoint).hostname);
const ownCertificate = (then: string) => (endpoint: string) =>
  isPlain(endpoint) ? undefined : `Where the server made its certificate itself, run “orrery certificate trust”${then}.`;

/** Java SDKs read this system property before the first client is created. */
function javaProperty(endpoint: string): string | undefined {
  if (isPlain(endpoint)) return "COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED";
  return isLocal(endpoint) ? "COSMOS.EMULATOR_SERVER_CERTIFICATE_VALIDATION_DISABLED" : undefined;
}

function javaSetting(endpoint: string): string {
  const property = javaProperty(endpoint);
  return property ? `System.setProperty("${property}", "true"); // before the first client\n` : "";
}

export const SNIPPETS: Snippet[] = [
  {
    language: "Python",
    install: "pip install azure-cosmos",
    code: (endpoint, key) => `from azure.cosmos import CosmosClient, PartitionKey

client = CosmosClient("${endpoint}", "${key}")
database = client.create_database_if_not_exists("shop")
books = database.create_container_if_not_exists("books", PartitionKey("/author"))

books.upsert_item({"id": "1", "author": "Le Guin", "title": "The Dispossessed"})
for book in books.query_items("SELECT * FROM c", enable_cross_partition_query=True):
    print(book["title"])
`,
  },
  {
    language: "JavaScript",
    install: "npm install @azure/cosmos",
    note: (endpoint) =>
      isPlain(endpoint)
        ? "Versions before 4.2 need an agent for plain HTTP: agent: new http.Agent(), and from 3.14 on a plugin, see docs/clients.md."
        : ownCertificate(", and set NODE_EXTRA_CA_CERTS to the file that it names")(endpoint),
    code: (endpoint, key) => `import { CosmosClient } from "@azure/cosmos";

const client = new CosmosClient({ endpoint: "${endpoint}", key: "${key}" });
const { database } = await client.databases.createIfNotExists({ id: "shop" });
const { container } = await database.containers.createIfNotExists({
  id: "books",
  partitionKey: { paths: ["/author"] },
});

await container.items.upsert({ id: "1", author: "Le Guin", title: "The Dispossessed" });
const { resources } = await container.items.query("SELECT * FROM c").fetchAll();
console.log(resources);
`,
  },
  {
    language: ".NET",
    install: "dotnet add package Microsoft.Azure.Cosmos",
    note: ownCertificate(". In a container, set SSL_CERT_FILE to the bundle that it names"),
    code: (endpoint, key) => `using Microsoft.Azure.Cosmos;

var connection = "AccountEndpoint=${endpoint};AccountKey=${key};";
using var client = new CosmosClient(connection${isPlain(endpoint) ? ", new CosmosClientOptions { ConnectionMode = ConnectionMode.Gateway }" : ""});
Database database = await client.CreateDatabaseIfNotExistsAsync("shop");
Container books = await database.CreateContainerIfNotExistsAsync("books", "/author");

await books.UpsertItemAsync(new { id = "1", author = "Le Guin", title = "The Dispossessed" });
using var iterator = books.GetItemQueryIterator<dynamic>("SELECT * FROM c");
while (iterator.HasMoreResults)
    foreach (var book in await iterator.ReadNextAsync())
        Console.WriteLine(book.title);
`,
  },
  {
    language: "Java",
    install: "com.azure:azure-cosmos",
    code: (endpoint, key) => `${javaSetting(endpoint)}CosmosClient client = new CosmosClientBuilder()
    .endpoint("${endpoint}")
    .key("${key}")
${isPlain(endpoint) ? "    .gatewayMode()\n" : ""}    .endpointDiscoveryEnabled(false)
    .buildClient();
client.createDatabaseIfNotExists("shop");
CosmosDatabase database = client.getDatabase("shop");
database.createContainerIfNotExists("books", "/author");
CosmosContainer books = database.getContainer("books");

books.upsertItem(Map.of("id", "1", "author", "Le Guin", "title", "The Dispossessed"));
books.queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), Map.class)
    .forEach(book -> System.out.println(book.get("title")));
`,
  },
  {
    language: "Spring",
    install: "com.azure.spring:spring-cloud-azure-starter-data-cosmos",
    note: (endpoint) => {
      const property = javaProperty(endpoint);
      return property && `Start the program with java -D${property}=true.`;
    },
    code: (endpoint, key) => `# application.properties
spring.cloud.azure.cosmos.endpoint=${endpoint}
spring.cloud.azure.cosmos.key=${key}
spring.cloud.azure.cosmos.database=shop
${isPlain(endpoint) ? "spring.cloud.azure.cosmos.connection-mode=gateway\n" : ""}`,
  },
  {
    language: "Go",
    install: "go get github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos",
    note: ownCertificate(", and set SSL_CERT_FILE to the bundle that it names"),
    code: (endpoint, key) => `credential, err := azcosmos.NewKeyCredential("${key}")
if err != nil {
	log.Fatal(err)
}
client, err := azcosmos.NewClientWithKey("${endpoint}", credential, nil)
if err != nil {
	log.Fatal(err)
}
books, err := client.NewContainer("shop", "books")
if err != nil {
	log.Fatal(err)
}
item := []byte(\`{"id":"1","author":"Le Guin","title":"The Dispossessed"}\`)
_, err = books.UpsertItem(ctx, azcosmos.NewPartitionKeyString("Le Guin"), item, nil)
`,
  },
  {
    language: "Rust",
    install: "cargo add azure_data_cosmos --features key_auth",
    note: ownCertificate(", and set SSL_CERT_FILE to the bundle that it names"),
    code: (endpoint, key) => `use azure_core::credentials::Secret;
use azure_data_cosmos::CosmosClient;
use serde_json::json;

let key = Secret::from("${key}");
let client = CosmosClient::with_key("${endpoint}", key, None)?;
let books = client.database_client("shop").container_client("books");

let book = json!({"id": "1", "author": "Le Guin", "title": "The Dispossessed"});
books.upsert_item("Le Guin", book, None).await?;
`,
  },
];
