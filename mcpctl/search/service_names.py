"""Names of well-known services that the table of word vectors does not have, and a slip away from other words."""

_NAMES = """
    adyen ahrefs airbnb airbyte airtable akamai algolia alibaba alteryx anthropic arcgis argocd arxiv asana bamboohr
    basecamp bigcommerce binance bluesky braintree brex browserbase bugsnag bugzilla calendly chargebee circleci
    clickhouse clickup cockroachdb coda contentful couchbase coursera dagster datadog docusign dogecoin doordash
    duolingo dynatrace ebay etherscan etsy eventbrite evernote expedia fastly figma finnhub firecrawl fivetran
    fluentd fluxcd freshbooks freshdesk garmin goodreads gorgias graylog hotjar hubspot huggingface imdb infura
    instacart invision joomla keycloak klarna klaviyo kraken langchain launchdarkly logseq lyft mailchimp mapbox
    meetup meilisearch mendeley metabase metamask milvus miro mixpanel moodle netsuite newrelic nomad odoo okta
    onenote onepassword opensea opsgenie optimizely oura overleaf paypal peloton personio pinecone pinterest
    pipedrive planetscale podio posthog qdrant quickbooks recurly redmine replit revolut robinhood rollbar scaleway
    semrush sendgrid shopify shopware smartsheet solana soundcloud squarespace statsig strapi strava tableau talend
    tavily teamcity ticketmaster ticktick tiktok timescaledb tmdb tradingview trello tripadvisor typeform typesense
    uniswap vimeo vultr walmart weaviate webflow windsurf wolfram woocommerce wrike xero yelp youtrack zendesk
    zeplin zipkin zotero zuora
"""
SERVICE_NAMES = frozenset(_NAMES.split())
"""In small letters: `wrike` is not a mistyped `write`."""
