"""What Schemathesis has to be told of the scalars of our GraphQL schema."""

import schemathesis
from hypothesis import strategies as st
from schemathesis.graphql import nodes

LARGEST = 2**53 - 1

schemathesis.graphql.scalar("SafeInt", st.integers(-LARGEST, LARGEST).map(nodes.Int))
schemathesis.graphql.scalar("JSON", st.just(nodes.Object(fields=[])))
