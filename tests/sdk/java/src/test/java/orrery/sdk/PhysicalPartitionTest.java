package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PhysicalPartitionTest extends Fixture {
    private static final int KEYS = 30;

    @Test
    void feedRangesOfNewContainers() {
        assertEquals(1, newContainer().getFeedRanges().size());
        CosmosContainer two = newContainer(properties("c"), ThroughputTest.manual(12000));
        assertEquals(2, two.getFeedRanges().size());
        CosmosContainer versionOne =
                newContainer(new CosmosContainerProperties("c", "/pk"), ThroughputTest.manual(18000));
        List<String> ranges =
                versionOne.getFeedRanges().stream().map(FeedRange::toString).toList();
        assertEquals(
                List.of(range("", "05C1D5AB55AB54"), range("05C1D5AB55AB54", "05C1E5AB55AB54"), range("05C1E5AB55AB54", "FF")),
                ranges.stream().map(PhysicalPartitionTest::bounds).toList());
    }

    @Test
    void threeAnswerAsOne() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        fill(container, KEYS, 1);
        for (int n = 0; n < KEYS; n++) {
            assertEquals(n + "-0", read(container, n + "-0", "p" + n).get("id").asText());
        }
        for (int pageSize : new int[] {1, 7, 100}) {
            List<String> all = new ArrayList<>();
            for (FeedResponse<ObjectNode> page :
                    container.queryItems("SELECT * FROM c", everywhere(), ObjectNode.class).iterableByPage(pageSize)) {
                page.getResults().forEach(item -> all.add(item.get("id").asText()));
            }
            assertEquals(KEYS, all.size(), "pages of " + pageSize);
            assertEquals(KEYS, all.stream().distinct().count());
        }
        SqlQuerySpec query =
                new SqlQuerySpec("SELECT * FROM c WHERE c.id = @id", List.of(new SqlParameter("@id", "17-0")));
        assertEquals("17-0", queryIds(container, query, everywhere()));
    }

    /** The client keeps one token for the session of all ranges, and sends it with each read. */
    @Test
    void pagesOfAllRangesLeaveASessionThatReadsEveryKey() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        fill(container, KEYS, 1);
        for (int pageSize : new int[] {2, 100}) {
            int[] count = {0};
            for (FeedResponse<ObjectNode> page :
                    container.queryItems("SELECT * FROM c", everywhere(), ObjectNode.class).iterableByPage(pageSize)) {
                count[0] += page.getResults().size();
            }
            for (ObjectNode item : container.readAllItems(pk("p5"), ObjectNode.class)) {
                assertEquals("5-0", item.get("id").asText());
            }
            assertEquals(KEYS, count[0]);
            for (int n = 0; n < KEYS; n++) {
                assertEquals(n + "-0", read(container, n + "-0", "p" + n).get("id").asText());
            }
        }
    }

    @Test
    void feedRangesCoverTheContainerOnce() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        fill(container, KEYS, 1);
        List<FeedRange> ranges = container.getFeedRanges();
        assertEquals(3, ranges.size());
        List<String> all = new ArrayList<>();
        for (FeedRange range : ranges) {
            container
                    .queryItems(
                            "SELECT * FROM c", new CosmosQueryRequestOptions().setFeedRange(range), ObjectNode.class)
                    .forEach(item -> all.add(item.get("id").asText()));
        }
        assertEquals(KEYS, all.size());
        assertEquals(KEYS, all.stream().distinct().count());

        CosmosQueryRequestOptions onePartition =
                new CosmosQueryRequestOptions().setFeedRange(FeedRange.forLogicalPartition(pk("p5")));
        assertEquals("5-0", queryIds(container, "SELECT * FROM c", onePartition));
    }

    private static String range(String min, String max) {
        return min + "-" + max;
    }

    private static String bounds(String feedRange) {
        // The text is base64 of JSON in this client.
        String text = feedRange.startsWith("{")
                ? feedRange
                : new String(java.util.Base64.getDecoder().decode(feedRange), java.nio.charset.StandardCharsets.UTF_8);
        return range(
                json(text).get("Range").get("min").asText(),
                json(text).get("Range").get("max").asText());
    }
}
