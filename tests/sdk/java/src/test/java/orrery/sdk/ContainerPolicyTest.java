package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.ComputedProperty;
import com.azure.cosmos.models.ConflictResolutionMode;
import com.azure.cosmos.models.ConflictResolutionPolicy;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.SpatialSpec;
import com.azure.cosmos.models.SpatialType;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ContainerPolicyTest extends Fixture {
    @Test
    void defaultsAreFilledIn() {
        CosmosContainerProperties read = newContainer().read().getProperties();
        IndexingPolicy indexing = read.getIndexingPolicy();
        assertEquals(IndexingMode.CONSISTENT, indexing.getIndexingMode());
        assertTrue(indexing.isAutomatic());
        assertEquals(List.of("/*"), included(indexing));
        assertEquals(List.of("/\"_etag\"/?"), excluded(indexing));
        assertEquals(
                ConflictResolutionMode.LAST_WRITER_WINS,
                read.getConflictResolutionPolicy().getMode());
        assertEquals("/_ts", read.getConflictResolutionPolicy().getConflictResolutionPath());
        assertNull(read.getDefaultTimeToLiveInSeconds());
    }

    @Test
    void indexingPolicyRoundTrip() {
        IndexingPolicy policy = new IndexingPolicy()
                .setIncludedPaths(List.of(new IncludedPath("/*")))
                .setExcludedPaths(List.of(new ExcludedPath("/big/*")))
                .setCompositeIndexes(List.of(List.of(
                        new CompositePath().setPath("/a").setOrder(CompositePathSortOrder.ASCENDING),
                        new CompositePath().setPath("/b").setOrder(CompositePathSortOrder.DESCENDING))))
                .setSpatialIndexes(List.of(
                        new SpatialSpec().setPath("/place/*").setSpatialTypes(Arrays.asList(SpatialType.values()))));
        IndexingPolicy read = created(properties("c").setIndexingPolicy(policy)).getIndexingPolicy();

        assertEquals(List.of("/*"), included(read));
        assertTrue(excluded(read).containsAll(List.of("/big/*", "/\"_etag\"/?")), excluded(read)::toString);
        assertEquals("/b", read.getCompositeIndexes().get(0).get(1).getPath());
        assertEquals(
                CompositePathSortOrder.DESCENDING,
                read.getCompositeIndexes().get(0).get(1).getOrder());
        assertEquals("/place/*", read.getSpatialIndexes().get(0).getPath());
    }

    @Test
    void noIndexing() {
        IndexingPolicy policy = new IndexingPolicy().setAutomatic(false).setIndexingMode(IndexingMode.NONE);
        IndexingPolicy read = created(properties("c").setIndexingPolicy(policy)).getIndexingPolicy();
        assertEquals(IndexingMode.NONE, read.getIndexingMode());
        assertEquals(false, read.isAutomatic());
    }

    @Test
    void otherPoliciesRoundTrip() {
        CosmosContainerProperties read = created(properties("c")
                .setDefaultTimeToLiveInSeconds(3600)
                .setUniqueKeyPolicy(
                        new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/a", "/b")))))
                .setConflictResolutionPolicy(ConflictResolutionPolicy.createLastWriterWinsPolicy("/rank"))
                .setComputedProperties(
                        List.of(new ComputedProperty("lower", "SELECT VALUE LOWER(c.name) FROM c"))));
        assertEquals(3600, read.getDefaultTimeToLiveInSeconds());
        assertEquals(
                List.of("/a", "/b"),
                read.getUniqueKeyPolicy().getUniqueKeys().get(0).getPaths());
        assertEquals("/rank", read.getConflictResolutionPolicy().getConflictResolutionPath());
        assertEquals("lower", read.getComputedProperties().iterator().next().getName());
    }

    @Test
    void partitionKeyVersions() {
        for (PartitionKeyDefinitionVersion version : PartitionKeyDefinitionVersion.values()) {
            PartitionKeyDefinition definition = key("/pk").setVersion(version);
            PartitionKeyDefinition read =
                    created(new CosmosContainerProperties("c", definition)).getPartitionKeyDefinition();
            assertEquals(version, read.getVersion());
            assertEquals(List.of("/pk"), read.getPaths());
        }
        PartitionKeyDefinition absent = created(new CosmosContainerProperties("c", "/pk")).getPartitionKeyDefinition();
        assertNull(absent.getVersion());
    }

    @Test
    void hierarchicalPartitionKey() {
        PartitionKeyDefinition read =
                created(new CosmosContainerProperties("c", key("/a", "/b", "/c"))).getPartitionKeyDefinition();
        assertEquals(PartitionKind.MULTI_HASH, read.getKind());
        assertEquals(List.of("/a", "/b", "/c"), read.getPaths());
    }

    @Test
    void refusals() {
        CosmosDatabase database = newDatabase();
        for (CosmosContainerProperties wrong : List.of(
                new CosmosContainerProperties("c", key("/a", "/b", "/c", "/d")),
                properties("c").setDefaultTimeToLiveInSeconds(0),
                properties("c").setDefaultTimeToLiveInSeconds(-10),
                properties("c")
                        .setIndexingPolicy(
                                new IndexingPolicy().setIncludedPaths(List.of(new IncludedPath("/a/?")))),
                properties("x".repeat(256)))) {
            fails(400, () -> database.createContainer(wrong));
        }
    }

    private CosmosContainerProperties created(CosmosContainerProperties properties) {
        return newContainer(properties).read().getProperties();
    }

    private static List<String> included(IndexingPolicy policy) {
        return policy.getIncludedPaths().stream().map(IncludedPath::getPath).toList();
    }

    private static List<String> excluded(IndexingPolicy policy) {
        return policy.getExcludedPaths().stream().map(ExcludedPath::getPath).toList();
    }
}
