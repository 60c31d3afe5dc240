package orrery.sdk;

import com.azure.cosmos.CosmosClientBuilder;

/** How the clients of the suite connect: through the gateway, or in direct mode with ORRERY_JAVA_MODE=direct. */
final class Mode {
    static final boolean IS_DIRECT = "direct".equals(System.getenv("ORRERY_JAVA_MODE"));

    private Mode() {}

    static CosmosClientBuilder of(CosmosClientBuilder builder) {
        return IS_DIRECT ? builder.directMode() : builder.gatewayMode();
    }
}
